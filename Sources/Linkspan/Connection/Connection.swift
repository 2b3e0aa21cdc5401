public import LinkspanRuntime

/// A place to send messages to and hear from, whatever carries them.
///
/// It looks after itself: it connects, reconnects, and keeps what is sent while it is down. Most features only ever
/// `send`, `request`, `deliver` and listen with `on` or `events`.
public protocol MessageChannel: AnyObject, Sendable {
    /// The endpoint.
    var url: ConnectionURL { get }
    /// The present state.
    var state: ConnectionState { get }
    /// What it is doing inside its state.
    var progress: ConnectionProgress { get }
    /// The state as a sequence; see ``StateChanges``.
    var stateChanges: StateChanges { get }
    /// Commands that wait to be sent or, for deliveries, to be answered.
    var waitingCommands: Int { get }

    /// What the connection is doing, why, and what happens next.
    var diagnosis: ConnectionDiagnosis { get }

    /// What a later process has to give to ``ConnectionBuilder/WithTransport/resuming(_:)`` to go on where this connection
    /// is now; nil when its server does not resume sessions, or has nothing to resume.
    var resumption: Resumption? { get }

    /// Takes a command: sends it now or keeps it until the connection is up. Its outcome goes to its completion.
    ///
    /// - Throws: ``LinkspanError`` with code `released` or `bufferFull`; the completion is then not called.
    func perform(_ command: Command) throws(LinkspanError)

    /// Gives up a command. Its completion gets code `cancelled`, unless it has ended already.
    func cancel(_ id: Command.ID)

    /// The commands that have not had their outcome, in the order in which they were made.
    var commands: [CommandStatus] { get async }

    /// Cancels the commands for which `isMeant` returns true; they end with code `cancelled`.
    ///
    /// - Parameter isMeant: called for each of ``commands``, on the connection's executor.
    func cancelCommands(where isMeant: @escaping @Sendable (CommandStatus) -> Bool)

    /// Listens for one event, or for every event when `event` is nil, in any state before `released`.
    ///
    /// The handler runs on the connection's executor, one message at a time and never inside a call of yours: return
    /// quickly and do not block.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    func subscribe(
        to event: String?, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription

    /// Hears of each state change, in order, beginning with the latest if there has been one. The handler must return
    /// quickly.
    func onStateChange(_ handler: @escaping @Sendable (StateChange) -> Void) -> Subscription

    /// Listens for one event, or for every event when `event` is nil, and for the marks between its messages.
    ///
    /// A mark comes after each reconnect and where messages were dropped before they reached this listener; see
    /// ``Continuity``. Messages and marks come in one order.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    func onItems(
        _ event: String?, _ handler: @escaping @Sendable (EventItem) -> Void
    ) throws(LinkspanError) -> Subscription

    /// Calls `handler` with one message of an event, the oldest that is held or the next to come, and then never again:
    /// not even when several threads bring messages at once.
    ///
    /// It leaves the event as it found it: as long as nobody listens for longer, the messages behind that one are held for
    /// the next listener.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    func once(
        _ event: String, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription

    /// Hears every command that a link takes, of all who share the connection, in the order of the wire.
    ///
    /// A delivery that is repeated is heard each time. The handler runs while the connection sends: it must return quickly.
    ///
    /// - Throws: ``LinkspanError`` with code `released`; `unsupported` when a third party's connection cannot tell.
    @discardableResult
    func onAnyOutgoing(
        _ handler: @escaping @Sendable (OutgoingMessage) -> Void
    ) throws(LinkspanError) -> Subscription

    /// Calls `handler` once when nothing more comes through this channel: the connection was released, or this holder has
    /// given it back. At once when that has happened already.
    @discardableResult
    func onEnd(_ handler: @escaping @Sendable () -> Void) -> Subscription

    /// Messages of one event, or of all when `event` is nil, and the marks between them as a sequence.
    ///
    /// - Parameters:
    ///   - event: the name of the event; nil for all.
    ///   - capacity: how many messages wait at most.
    ///   - overflow: what happens to the next one.
    /// - Returns: the sequence; it listens as long as somebody has it.
    /// - Throws: ``LinkspanError`` with code `released`.
    func events(
        _ event: String?, capacity: Int, overflow: EventStream.Overflow
    ) throws(LinkspanError) -> EventStream

    /// The clock by which waits through this channel are timed.
    var scheduler: any Scheduler { get }

    /// Begins to connect, or to reconnect after ``disconnect()`` or a permanent failure.
    ///
    /// - Throws: ``LinkspanError`` with code `wrongState` unless the state is `created` or `disconnected`.
    func connect() throws(LinkspanError)

    /// Disconnects and stays so until ``connect()``. Does nothing when already disconnected.
    ///
    /// - Throws: ``LinkspanError`` with code `wrongState` in `created` and `released`.
    func disconnect() throws(LinkspanError)
}

/// A message channel that can be finished.
///
/// Apps get theirs from ``ConnectionManager``, wrapped in a ``ConnectionHandler``. The protocol is public so that a third
/// party can bring its own connections through a ``ConnectionFactory``.
public protocol Connection: MessageChannel {
    /// Finishes the connection for good.
    ///
    /// - Throws: ``LinkspanError`` with code `wrongState` unless the state is `disconnected`.
    func release() throws(LinkspanError)

    /// Nobody uses the connection any more: goes to `disconnected`, so that it can be released.
    func retire()

    /// Ends the connection at once, from any state: every command without an outcome fails with `error`, its link is closed
    /// politely, its session is not resumed, and the state becomes `released`. Never refused.
    ///
    /// By default the connection is retired and released.
    func end(_ error: LinkspanError)

    /// Drops its link, because the path is gone or the app is out of sight; see ``SuspendRule``.
    ///
    /// Listeners and what waits are kept. Does nothing to a connection that is down already and stays so. By default
    /// nothing happens at all.
    ///
    /// - Parameters:
    ///   - reason: why, of code `pathLost` or `suspended`.
    ///   - patience: the shortest time between attempts from now on; nil for none before ``resume(within:)``.
    func suspend(_ reason: LinkspanError, patience: Duration?)

    /// Ends a ``suspend(_:patience:)``, and tries soon where an attempt would follow later; see ``ResumeRule``.
    ///
    /// By default nothing happens.
    ///
    /// - Parameter spread: the span over which connections spread their attempts.
    func resume(within spread: Duration)

    /// Goes by other options from now on, on the link it has; see ``ConnectionManager/adjust(_:_:)``.
    ///
    /// By default it is refused.
    ///
    /// - Throws: ``LinkspanError`` with code `conflictingOptions`, `invalidConfiguration`, `released` or `unsupported`.
    func adjust(_ options: ConnectionOptions) throws(LinkspanError)

    /// Leaves for another endpoint or transport with its listeners and all that waits; see ``ConnectionManager/move(_:to:)``.
    ///
    /// By default it is refused.
    ///
    /// - Throws: ``LinkspanError`` with code `conflictingOptions`, `invalidConfiguration`, `released` or `unsupported`.
    func move(to configuration: ConnectionConfiguration) throws(LinkspanError)

    /// Returns when commands have their outcomes, or after `limit`; see ``ConnectionHandler/drain(within:)``.
    ///
    /// By default it returns at once.
    func awaitOutcomes(of ids: Set<Command.ID>, within limit: Duration) async

    /// Returns when the peer has been told of a former disconnect and nothing is left on the network, or after `limit`.
    func settle(within limit: Duration) async
}

extension Connection {
    /// Retires and releases the connection.
    public func end(_ error: LinkspanError) {
        self.retire()
        // Refused only when it has been released already.
        try? self.release()
    }

    /// Does nothing.
    public func suspend(_ reason: LinkspanError, patience: Duration?) {}

    /// Does nothing.
    public func resume(within spread: Duration) {}

    /// Throws code `unsupported`.
    public func adjust(_ options: ConnectionOptions) throws(LinkspanError) {
        throw LinkspanError(.unsupported, "this kind of connection does not change its options")
    }

    /// Throws code `unsupported`.
    public func move(to configuration: ConnectionConfiguration) throws(LinkspanError) {
        throw LinkspanError(.unsupported, "this kind of connection does not move")
    }

    /// Returns at once.
    public func awaitOutcomes(of ids: Set<Command.ID>, within limit: Duration) async {}
}

extension MessageChannel {
    /// The state as a sequence, made of ``onStateChange(_:)``.
    public var stateChanges: StateChanges {
        let board = StateBoard()
        board.own(self.onStateChange { [weak board] in board?.post($0) })
        return StateChanges(board: board)
    }

    /// Nil: for connections of third parties that do not resume sessions.
    public var resumption: Resumption? { nil }

    /// What can be told without a memory of former changes.
    public var diagnosis: ConnectionDiagnosis {
        ConnectionDiagnosis(
            url: self.url.redacted, state: self.state, progress: self.progress, waitingCommands: self.waitingCommands,
            time: .now)
    }
}

// MARK: - Sending

extension MessageChannel {
    /// Sends an event: now, or as soon as the connection is up.
    ///
    /// At most once.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - arguments: its arguments; `Data` inside them travels as binary.
    /// - Throws: ``LinkspanError``: `encodingFailed`, `bufferFull`, `released`.
    public func send<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument
    ) throws(LinkspanError) {
        try self.perform(Command(sending: event, payload: Payload(repeat each arguments)))
    }

    /// Sends an event now or not at all: for what is worth nothing later, such as a cursor's place.
    ///
    /// - Throws: ``LinkspanError``: `encodingFailed`, `released`. That it was left out is not an error.
    public func sendVolatile<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument
    ) throws(LinkspanError) {
        try self.perform(Command(sending: event, payload: Payload(repeat each arguments), isVolatile: true))
    }

    /// Sends an event and waits for the server's reply.
    ///
    /// At most once.
    ///
    /// Cancelling the task gives the request up.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - arguments: its arguments.
    ///   - timeout: how long it may take, the wait for a connection included.
    /// - Returns: the arguments of the reply.
    /// - Throws: ``LinkspanError``: `timedOut`, `disconnected`, `cancelled`, `encodingFailed`, `bufferFull`, `released`;
    ///   its ``LinkspanError/certainty`` says whether the server may have got it.
    public func request<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument, timeout: Duration = .seconds(30)
    ) async throws(LinkspanError) -> Payload {
        try await self.reply(
            to: .request, event: event, payload: Payload(repeat each arguments), timeout: timeout)
    }

    /// Sends an event until the server has answered it, over as many reconnects as that takes.
    ///
    /// At least once, in order.
    ///
    /// Events of one lane reach the server in the order of the calls. The server may get an event twice when a connection
    /// was lost before its reply; give the event a key of your own and let the server recognise it.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - arguments: its arguments.
    ///   - lane: what is kept in order with what; the event's name when nil.
    ///   - key: what the server recognises the event by that it has had before; nil for one that the SDK makes. See
    ///     ``DeliveryOptions/key``.
    ///   - timeout: how long it may take altogether; nil for as long as the process lives.
    /// - Returns: the arguments of the reply.
    /// - Throws: ``LinkspanError``: `timedOut`, `cancelled`, `encodingFailed`, `bufferFull`, `released`.
    @discardableResult
    public func deliver<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument, lane: String? = nil, key: String? = nil,
        timeout: Duration? = nil
    ) async throws(LinkspanError) -> Payload {
        try await self.reply(
            to: .deliver(lane: lane ?? event), event: event, payload: Payload(repeat each arguments),
            timeout: timeout, key: key)
    }

    /// Performs a command and waits for its outcome.
    private func reply(
        to kind: Command.Kind, event: String, payload: Payload, timeout: Duration?, key: String? = nil
    ) async throws(LinkspanError) -> Payload {
        try await Command.outcome(
            of: kind, event: event, payload: payload, timeout: timeout, key: key,
            perform: { command throws(LinkspanError) in try self.perform(command) }, cancel: { self.cancel($0) })
    }
}

// MARK: - Listening

extension MessageChannel {
    /// Calls `handler` for each message of an event; see ``subscribe(to:_:)``.
    ///
    /// Messages that came before the first listener are handed over first.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func on(
        _ event: String, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.subscribe(to: event, handler)
    }

    /// Calls `handler` for each message of any event.
    ///
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func onAny(_ handler: @escaping @Sendable (Message) -> Void) throws(LinkspanError) -> Subscription {
        try self.subscribe(to: nil, handler)
    }

    /// Calls `handler` with each message of an event, its first argument decoded.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - type: the type of the first argument.
    ///   - handler: gets the value, or the error of code `decodingFailed` when the argument has another shape.
    /// - Returns: the registration; it lasts whether or not it is kept.
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func on<Value: Decodable & Sendable>(
        _ event: String, as type: Value.Type,
        _ handler: @escaping @Sendable (Result<Value, LinkspanError>) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.subscribe(to: event) { message in
            handler(Result { () throws(LinkspanError) in try message.decode(type) })
        }
    }
}
