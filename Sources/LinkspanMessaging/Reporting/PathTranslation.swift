internal import Linkspan
internal import LinkspanLifecycle

/// Translates events of the network path into signals, leaving out those that change nothing for a connection.
struct PathTranslation: Sendable {
    private var last: NetworkEvent?

    mutating func signals(for event: NetworkEvent) -> [KeeperSignal] {
        defer { self.last = event }
        let wasThere = self.last.map { $0.status != .unsatisfied }
        guard event.status != .unsatisfied else { return wasThere == false ? [] : [.pathLost] }
        guard let last = self.last, wasThere == true else { return [.pathAvailable] }
        guard last.interfaces != event.interfaces else { return [] }
        // Links stay on the interface on which they were opened, which most likely was the best one.
        if let best = last.interfaces.first, !event.interfaces.isEmpty, !event.interfaces.contains(best) {
            return [.pathLost, .pathAvailable]
        }
        return [.pathAvailable]
    }
}

extension KeeperSignal {
    /// The signal that an event of the app is; nil when it is none.
    init?(_ event: AppEvent) {
        switch event {
        case .didBecomeActive, .willEnterForeground: self = .foreground
        case .didEnterBackground: self = .background
        case .willResignActive, .willTerminate: return nil
        @unknown default: return nil
        }
    }
}
