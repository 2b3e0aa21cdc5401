internal import Linkspan
internal import LinkspanRuntime

/// Makes connections that are not the SDK's.
struct ForeignFactory: ConnectionFactory {
    /// The connections of the factory share one state.
    let state = Lock(ConnectionState.created)

    func makeConnection(_ configuration: ConnectionConfiguration) -> any ManagedConnection {
        ForeignConnection(url: configuration.url, state: self.state)
    }
}

/// A connection of which a test says in what state it is.
private final class ForeignConnection: ManagedConnection {
    let scheduler: any Scheduler = SystemScheduler.shared
    private let url: ConnectionURL
    private let state: Lock<ConnectionState>

    init(url: ConnectionURL, state: Lock<ConnectionState>) { (self.url, self.state) = (url, state) }

    var status: ConnectionStatus { ConnectionStatus(url: self.url, state: self.state.withLock { $0 }) }
    func connect() throws(LinkspanError) { self.state.withLock { $0 = .connected } }
    func disconnect() throws(LinkspanError) { self.state.withLock { $0 = .disconnected } }
    func release() throws(LinkspanError) { self.state.withLock { $0 = .released } }
    func end(_ error: LinkspanError?) { self.state.withLock { $0 = .released } }
    func suspend(_ reason: LinkspanError, patience: Duration?) {}
    func resume(within spread: Duration) {}
    func adjust(_ options: ConnectionOptions) throws(LinkspanError) {}
    func move(to configuration: ConnectionConfiguration) throws(LinkspanError) {}
    func settle(within limit: Duration) async {}
    func awaitOutcomes(of ids: Set<Command.ID>, within limit: Duration) async {}
    var commands: [Command] { get async { [] } }
    func cancelCommands(where isMeant: @escaping @Sendable (Command) -> Bool) {}
    func cancel(_ id: Command.ID) {}
    func perform(_ command: Command) throws(LinkspanError) { command.finish(.success(.empty)) }
    func onStatusChange(_ handler: @escaping @Sendable (StatusChange) -> Void) -> Subscription { Subscription {} }

    func onAnyOutgoing(_ handler: @escaping @Sendable (Command) -> Void) throws(LinkspanError) -> Subscription {
        Subscription {}
    }

    func subscribe(
        to event: String?, once: Bool, onMark: (@Sendable (Continuity) -> Void)?,
        _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription { Subscription {} }
}
