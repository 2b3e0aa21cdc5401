import Foundation
import Linkspan
import LinkspanConfiguration
import LinkspanLifecycle
import LinkspanMessaging

@available(macOS 15, *)
extension Visit {
    /// Follows the configuration until the task is cancelled: when its file changes, and at SIGHUP.
    ///
    /// - Parameters:
    ///   - configuration: the configuration to follow.
    ///   - tell: gets the outcome of each change, line by line.
    func follow(_ configuration: ChatConfiguration, _ tell: @escaping @Sendable (String) -> Void) async {
        let reloader = ConfigurationReloader(
            configuration.loader(for: self.visitor, self.news), configuration.sources, running: self.plan,
            on: self.messaging, prepare: { $0.credentials = self.visitor.credentials })
        var running = self.plan
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await UnixSignalSource([SIGHUP]).run { _ in reloader.reload() } }
            await reloader.run { outcome in
                if case .applied = outcome {
                    let next = await reloader.running
                    // A change of services alone leaves the visitor where they have moved by themselves.
                    if self.plan.isSamePlace(as: running) || !next.isSamePlace(as: running) { self.adopt(next) }
                    running = next
                }
                for line in "\(outcome)".split(separator: "\n") { tell(String(line)) }
            }
            group.cancelAll()
        }
    }
}

extension LoadedPlan {
    fileprivate func isSamePlace(as other: LoadedPlan) -> Bool {
        self.adapter == other.adapter && self.plan.url == other.plan.url
    }
}
