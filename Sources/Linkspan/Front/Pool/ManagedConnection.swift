internal import LinkspanRuntime

/// A connection as its manager needs it: one that can be finished, suspended and changed.
///
/// Apps never see it: they hold a ``ConnectionHandler``. It is public so that a third party can bring connections of
/// its own through a ``ConnectionFactory``. For most a ``Transport`` is the better seam: the SDK's connection around it
/// then buffers while it is down, reconnects and keeps listeners.
public protocol ManagedConnection: Connection {
    /// Ends the connection permanently.
    ///
    /// - Throws: ``LinkspanError`` with code `wrongState` unless the state is `disconnected`.
    func release() throws(LinkspanError)

    /// Ends the connection at once, from any state: every command without an outcome fails, its link is closed
    /// politely, its session is not resumed, and the state becomes `released`. Never refused.
    ///
    /// - Parameter error: the reason, for its commands; nil when the connection has no holder.
    func end(_ error: LinkspanError?)

    /// Drops its link, because the path was lost or the app is in the background.
    ///
    /// Listeners and what waits are kept. Does nothing to a connection that is down already and stays so.
    ///
    /// - Parameters:
    ///   - reason: why, of code `pathLost` or `suspended`.
    ///   - patience: the shortest time between attempts until ``resume(within:)``; nil for no attempts.
    func suspend(_ reason: LinkspanError, patience: Duration?)

    /// Ends a ``suspend(_:patience:)``, and tries soon where an attempt would follow later.
    ///
    /// - Parameter spread: the span over which connections spread their attempts.
    func resume(within spread: Duration)

    /// Applies other options on the current link, when the plan of its `Messaging` has changed.
    ///
    /// - Throws: ``LinkspanError`` with code `conflictingOptions`, `invalidConfiguration`, `released` or `unsupported`.
    func adjust(_ options: ConnectionOptions) throws(LinkspanError)

    /// Leaves for another endpoint or transport with its listeners and all that waits; see
    /// ``ConnectionManager/move(_:to:)``.
    ///
    /// - Throws: ``LinkspanError`` with code `conflictingOptions`, `invalidConfiguration`, `released` or `unsupported`.
    func move(to configuration: ConnectionConfiguration) throws(LinkspanError)

    /// Returns when commands have their outcomes and sent messages have left, or after `limit`; see
    /// ``ConnectionHandler/drain(within:)``.
    func awaitOutcomes(of ids: Set<Command.ID>, within limit: Duration) async

    /// The commands that have not had their outcome, in the order in which they were made.
    var commands: [Command] { get async }

    /// Cancels the commands for which `isMeant` returns true; they end with code `cancelled`.
    ///
    /// - Parameter isMeant: called for each of ``commands``, on the connection's executor.
    func cancelCommands(where isMeant: @escaping @Sendable (Command) -> Bool)

    /// Calls `handler` with every command that a link takes, in the order of the wire, and again when it is repeated.
    ///
    /// - Throws: ``LinkspanError`` with code `released` or `unsupported`.
    func onAnyOutgoing(
        _ handler: @escaping @Sendable (Command) -> Void
    ) throws(LinkspanError) -> Subscription

    /// Returns when a former disconnect has reached the peer, or after `limit`.
    func settle(within limit: Duration) async
}

extension ManagedConnection {
    /// Its ``commands``; nil when it has not answered by `deadline`, because something blocks its executor.
    func commands(until deadline: Moment) async -> [Command]? {
        let answer = Promise<[Command]?>()
        let timer = self.scheduler.schedule(at: deadline) { answer.fulfill(nil) }
        // No parent can own this task: the question cannot be taken back, and is left behind when the executor is blocked.
        Task { answer.fulfill(await self.commands) }
        defer { timer.cancel() }
        return await answer.value
    }
}
