import Linkspan
import LinkspanConfiguration
import LinkspanLifecycle
import LinkspanMessaging

@available(macOS 15, *)
extension Visit {
    /// Follows the configuration until the task is cancelled: when its file changes, and at SIGHUP.
    ///
    /// - Parameters:
    ///   - configuration: what is followed.
    ///   - tell: gets what became of each change, line by line.
    func follow(_ configuration: ChatConfiguration, _ tell: @escaping @Sendable (String) -> Void) async {
        let reloader = ConfigurationReloader(
            configuration.loader(for: self.visitor, self.news), configuration.sources, running: self.plan,
            on: self.messaging)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await UnixSignalSource([.hangUp]).run { _ in reloader.reload() } }
            await reloader.run { outcome in
                for line in "\(outcome)".split(separator: "\n") { tell(String(line)) }
            }
            group.cancelAll()
        }
    }
}
