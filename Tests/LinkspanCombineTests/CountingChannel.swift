internal import Linkspan
internal import LinkspanRuntime

/// A channel that counts who listens to the one behind it.
final class CountingChannel: MessageChannel {
    private let base: any MessageChannel
    private let count = Lock(0)

    init(_ base: any MessageChannel) { self.base = base }

    /// Subscriptions that have not been cancelled.
    var listeners: Int { self.count.withLock { $0 } }

    var url: ConnectionURL { self.base.url }
    var state: ConnectionState { self.base.state }
    var progress: ConnectionProgress { self.base.progress }
    var stateChanges: StateChanges { self.base.stateChanges }
    var waitingCommands: Int { self.base.waitingCommands }
    var commands: [CommandStatus] { get async { await self.base.commands } }
    func cancelCommands(where isMeant: @escaping @Sendable (CommandStatus) -> Bool) {
        self.base.cancelCommands(where: isMeant)
    }

    func perform(_ command: Command) throws(LinkspanError) { try self.base.perform(command) }

    func cancel(_ id: Command.ID) { self.base.cancel(id) }

    func subscribe(
        to event: String?, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Linkspan.Subscription {
        self.counted(try self.base.subscribe(to: event, handler))
    }

    func onStateChange(_ handler: @escaping @Sendable (StateChange) -> Void) -> Linkspan.Subscription {
        self.counted(self.base.onStateChange(handler))
    }

    func onEnd(_ handler: @escaping @Sendable () -> Void) -> Linkspan.Subscription {
        self.counted(self.base.onEnd(handler))
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
