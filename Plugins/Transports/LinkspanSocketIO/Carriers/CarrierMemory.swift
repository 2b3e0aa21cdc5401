internal import Linkspan
internal import LinkspanNetwork

/// With what an engine tries to reach its server.
enum CarrierChoice: Sendable, Equatable {
    /// A WebSocket, within this share of the time there is.
    case webSocket(share: Double)
    case polling
    case upgrade
}

/// Which carrier worked for a server where a WebSocket did not, so that it is not tried in vain each time.
struct CarrierMemory: Sendable {
    /// A server, as far as it matters to what stands in front of it, and for whom.
    struct Place: Sendable, Hashable {
        var host: String
        var port: Int
        var isSecure: Bool
        var path: String
        /// The hash of the identity: nothing of the credentials is kept here for an hour.
        var identity: Int
    }

    /// How long polling is stayed with: networks change, and proxies are repaired.
    static let memory = Duration.seconds(3600)
    /// The most servers that are remembered.
    static let maximumPlaces = 1000

    private var polled: [Place: ContinuousClock.Instant] = [:]

    /// What to begin with.
    func choice(
        for place: Place, _ carriers: SocketIOTransport.Carriers, now: ContinuousClock.Instant
    ) -> CarrierChoice {
        switch carriers {
        case .webSocket: .webSocket(share: 1)
        case .polling: .polling
        case .upgrade: .upgrade
        case .fallback:
            // Half the time, because what swallows WebSockets seldom says so.
            self.polled[place].map { now < $0 } ?? false ? .polling : .webSocket(share: 0.5)
        }
    }

    /// What to go on with when a choice has failed before there was a session; nil when there is nothing else to try.
    mutating func otherChoice(
        for place: Place, _ carriers: SocketIOTransport.Carriers, insteadOf choice: CarrierChoice,
        after error: LinkspanError
    ) -> CarrierChoice? {
        guard carriers == .fallback else { return nil }
        guard case .webSocket = choice else {
            self.polled[place] = nil
            return nil
        }
        return Self.mayDifferForPolling(error) ? .polling : nil
    }

    /// A choice has brought a session about.
    mutating func worked(_ choice: CarrierChoice, for place: Place, now: ContinuousClock.Instant) {
        guard choice == .polling else { return }
        if self.polled.count >= Self.maximumPlaces { self.polled = [:] }
        self.polled[place] = now.advanced(by: Self.memory)
    }

    /// Whether HTTP could succeed where a WebSocket failed with this error.
    private static func mayDifferForPolling(_ error: LinkspanError) -> Bool {
        let hopeless: [LinkspanError.Code] = [
            .credentialsRefused, .tlsFailed, .nameNotResolved, .invalidConfiguration, .redirected,
        ]
        let isUnreachable = (error.cause as? ByteStreamError)?.code == .unreachable
        return !isUnreachable && !hopeless.contains(error.code)
    }
}
