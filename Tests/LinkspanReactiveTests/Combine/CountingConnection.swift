#if canImport(Combine) || OpenCombine
internal import Linkspan
internal import LinkspanRuntime

/// A channel that counts who listens to the one behind it.
final class CountingConnection: Connection {
    private let base: any Connection
    private let count = Lock(0)

    init(_ base: any Connection) { self.base = base }

    /// Subscriptions that have not been cancelled.
    var listeners: Int { self.count.withLock { $0 } }

    var status: ConnectionStatus { self.base.status }

    var scheduler: any Scheduler { self.base.scheduler }

    func perform(_ command: Command) throws(LinkspanError) { try self.base.perform(command) }

    func cancel(_ id: Command.ID) { self.base.cancel(id) }

    func subscribe(
        to event: String?, once: Bool, onMark: (@Sendable (Continuity) -> Void)?,
        _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Linkspan.Subscription {
        self.counted(try self.base.subscribe(to: event, once: once, onMark: onMark, handler))
    }

    func onStatusChange(_ handler: @escaping @Sendable (StatusChange) -> Void) -> Linkspan.Subscription {
        self.counted(self.base.onStatusChange(handler))
    }

    func connect() throws(LinkspanError) { try self.base.connect() }

    func disconnect() throws(LinkspanError) { try self.base.disconnect() }

    private func counted(_ subscription: Linkspan.Subscription) -> Linkspan.Subscription {
        self.count.withLock { $0 += 1 }
        return Linkspan.Subscription {
            subscription.cancel()
            self.count.withLock { $0 -= 1 }
        }
    }
}
#endif
