public import LinkspanRuntime

/// A connection on which a feature sends messages and listens, independent of the transport.
///
/// It connects, reconnects, and buffers commands while it is down. Most features only ever `send`, `request`,
/// `deliver` and listen with `on` or `events`, all of which are made of these eight requirements. A fake for a
/// feature's tests, or a wrapper, implements the eight and has everything else.
public protocol Connection: AnyObject, Sendable {
    /// State, progress and figures of the connection at this moment.
    var status: ConnectionStatus { get }

    /// The clock by which waits are timed, such as `SystemScheduler.shared`.
    var scheduler: any Scheduler { get }

    /// Takes a command: sends it now or keeps it until the connection is up. Its outcome goes to its completion.
    ///
    /// - Throws: ``LinkspanError`` with code `released`, `bufferFull`, or `disconnected` when the connection has failed
    ///   for good; the completion is then not called.
    func perform(_ command: consuming Command) throws(LinkspanError)

    /// Takes commands that belong together, in order: all or none, in one turn of the connection.
    ///
    /// By default each is performed by itself; a wrapper hands the batch on.
    ///
    /// - Throws: what ``perform(_:)`` throws.
    func perform(batch: [Command]) throws(LinkspanError)

    /// Gives up a command. Its completion gets code `cancelled`, unless it has ended already.
    func cancel(_ id: Command.ID)

    /// Listens for one event, or for every event when `event` is nil, in any state before `released`.
    ///
    /// Messages that came before the first listener of an event are handed over first. Both handlers run on the
    /// connection's executor, one call at a time and never inside a call of yours: return quickly and do not block.
    /// What takes longer than ``ConnectionOptions/slowListener`` is logged as a warning.
    ///
    /// - Parameters:
    ///   - event: the name of the event; nil for all.
    ///   - once: whether to end with the first message, the oldest that is held or the next to come. What is held
    ///     behind that one stays held. With `event` nil it has no effect.
    ///   - onMark: gets the marks between messages, in one order with them: after each reconnect, and where messages
    ///     were dropped before they reached this listener; see ``Continuity``.
    ///   - handler: gets the messages.
    /// - Returns: the registration; it lasts until it is cancelled, whether or not it is kept.
    /// - Throws: ``LinkspanError`` with code `released`.
    func subscribe(
        to event: String?, once: Bool, onMark: (@Sendable (Continuity) -> Void)?,
        _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription

    /// Calls `handler` with each change of ``status``, in order, beginning with the latest change of state if there has
    /// been one.
    ///
    /// The handler runs on the connection's executor and must return quickly. Each attempt to connect is a change of
    /// progress. The last change is the one to `released`.
    ///
    /// - Returns: the registration; it lasts until it is cancelled, whether or not it is kept.
    @discardableResult
    func onStatusChange(_ handler: @escaping @Sendable (StatusChange) -> Void) -> Subscription

    /// Begins to connect, or to reconnect after ``disconnect()`` or a permanent failure.
    ///
    /// - Throws: ``LinkspanError`` with code `wrongState` unless the state is `created` or `disconnected`.
    func connect() throws(LinkspanError)

    /// Disconnects and stays so until ``connect()``. Does nothing when already disconnected.
    ///
    /// - Throws: ``LinkspanError`` with code `wrongState` in `created` before the first ``connect()``, and in
    ///   `released`.
    func disconnect() throws(LinkspanError)

    /// Makes the next attempt at once, for a button *Try again*.
    ///
    /// While an attempt is waited for, it begins now, and the waits after it go on growing. In `created` and `disconnected`
    /// it does what ``connect()`` does. While the connection is up or an attempt is under way, it does nothing. By default,
    /// as in a fake, it calls ``connect()`` when nothing is under way.
    ///
    /// - Throws: ``LinkspanError`` with code `wrongState` in `released`.
    func reconnectNow() throws(LinkspanError)
}

extension Connection {
    /// Calls ``connect()`` when nothing is under way.
    public func reconnectNow() throws(LinkspanError) {
        switch self.status.progress {
        case .idle, .suspended: try self.connect()
        case .obtainingCredentials, .opening, .open, .waiting: ()
        }
    }

    /// The present state.
    public var state: ConnectionState { self.status.state }

    /// Explains in sentences why the connection is not up and when the next attempt begins.
    public func explain() -> String { self.status.sentences.joined(separator: " ") }
}

// MARK: - Sending

extension Connection {
    /// Sends an event: now, or as soon as the connection is up.
    ///
    /// At most once.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - arguments: its arguments; `Data` inside them travels as binary.
    ///   - volatile: whether it is dropped, without an error, when it cannot leave at once: for values that are useless when
    ///     late, such as the position of a cursor.
    ///   - key: when a send with the same key waits, this one takes its place, and that one is cancelled: for values of which
    ///     only the latest counts. Nil: it replaces nothing. While data is saved, it waits up to a second; see ``DataSaving``.
    ///   - compress: whether it may be compressed, where client and server have agreed on compression.
    /// - Throws: ``LinkspanError``: `encodingFailed`, `bufferFull`, `disconnected` when the connection has failed for good,
    ///   `released`.
    @inlinable
    public func send<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument, volatile: Bool = false, replacing key: String? = nil,
        compress: Bool = true
    ) throws(LinkspanError) {
        guard key == nil else {
            return try self.perform(
                Command(
                    replacing: key, event: event, payload: Payload(repeat each arguments), isVolatile: volatile,
                    isCompressible: compress))
        }
        try self.perform(
            Command(
                sending: event, payload: Payload(repeat each arguments), isVolatile: volatile, isCompressible: compress)
        )
    }

    /// Sends an event, now or after a delay, and waits until the transport has taken it.
    ///
    /// At most once. Only a reply tells whether the server has it: a request or a delivery waits for one.
    ///
    /// Cancelling the task gives the event up while it waits.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - arguments: its arguments; `Data` inside them travels as binary.
    ///   - delay: how long the event is held back first; see ``Command/delay``.
    ///   - timeout: how long it may wait after that; nil for as long as it takes.
    ///   - compress: whether it may be compressed, where client and server have agreed on compression.
    /// - Throws: ``LinkspanError``: `timedOut`, `cancelled`, `encodingFailed`, `bufferFull`, `messageTooLarge`, `disconnected`
    ///   when the connection has failed for good, `released`.
    public func send<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument, after delay: Duration? = nil, timeout: Duration?,
        compress: Bool = true
    ) async throws(LinkspanError) {
        _ = try await self.reply(
            to: .send, event: event, payload: Payload(repeat each arguments), after: delay, timeout: timeout,
            isCompressible: compress)
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
    ///   - timeout: how long it may take, the wait for a connection included; nil for
    ///     ``ConnectionOptions/replyTimeout``.
    ///   - compress: whether it may be compressed, where client and server have agreed on compression.
    /// - Returns: the arguments of the reply.
    /// - Throws: ``LinkspanError``: `timedOut`, `disconnected`, `cancelled`, `encodingFailed`, `bufferFull`,
    ///   `released`; its ``LinkspanError/certainty`` tells whether the server may have received it.
    public func request<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument, timeout: Duration? = nil, compress: Bool = true
    ) async throws(LinkspanError) -> Payload {
        try await self.reply(
            to: .request, event: event, payload: Payload(repeat each arguments), timeout: timeout,
            isCompressible: compress)
    }

    /// Sends an event until the server has answered it, over as many reconnects as that takes.
    ///
    /// At least once, in order.
    ///
    /// Events of one ordering key reach the server in the order of the calls. The server may get an event twice when a
    /// connection was lost before its reply; give the event a key of your own and let the server recognise it.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - arguments: its arguments.
    ///   - orderingKey: deliveries with the same ordering key arrive in order; the event's name when nil.
    ///   - key: the idempotency key by which the server recognises a repetition; nil for a generated one. See
    ///     ``DeliveryOptions/keyPlacement``. A call with the key of a delivery that waits is a wait for that one.
    ///   - timeout: how long it may take altogether; nil for as long as it takes.
    ///   - compress: whether it may be compressed, where client and server have agreed on compression.
    /// - Returns: the arguments of the reply.
    /// - Throws: ``LinkspanError``: `timedOut`, `cancelled`, `encodingFailed`, `bufferFull`, `messageTooLarge`, `messageRefused`,
    ///   `setAside`, `released`; `disconnected` when the connection has failed for good, see
    ///   ``DeliveryOptions/waitsAfterFailure``; with a ``DeliveryStore`` also `notKept`.
    @discardableResult
    public func deliver<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument, orderingKey: String? = nil, key: String? = nil,
        timeout: Duration? = nil, compress: Bool = true
    ) async throws(LinkspanError) -> Payload {
        try await self.reply(
            to: .deliver(orderingKey: orderingKey ?? event), event: event, payload: Payload(repeat each arguments),
            timeout: timeout, key: key, isCompressible: compress)
    }

    /// Hands an event over to be delivered, and returns as soon as it is accepted: with a ``DeliveryStore``, when it is
    /// committed there and survives the process; without one, when there is room for it.
    ///
    /// At least once, in order; see ``deliver(_:_:orderingKey:key:timeout:compress:)-(String,_,_,_,_,_)``. A call with
    /// the key of a delivery that waits, or whose outcome the store still has, adds nothing and returns the same
    /// key.
    ///
    /// Cancelling the task before it returns gives the delivery up.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - arguments: its arguments.
    ///   - orderingKey: deliveries with the same ordering key arrive in order; the event's name when nil.
    ///   - key: the idempotency key, for the server and as the result; nil for a generated one.
    ///   - timeout: how long it may take altogether; nil for as long as it takes.
    ///   - compress: whether it may be compressed, where client and server have agreed on compression.
    /// - Returns: the key of the delivery, for ``outcome(of:timeout:)`` in this process or a later one.
    /// - Throws: ``LinkspanError``: `notKept`, `cancelled`, `encodingFailed`, `bufferFull`, `disconnected`, `released`.
    @discardableResult
    public func enqueue<each Argument: Encodable>(
        _ event: String, _ arguments: repeat each Argument, orderingKey: String? = nil, key: String? = nil,
        timeout: Duration? = nil, compress: Bool = true
    ) async throws(LinkspanError) -> String {
        try await Command.receipt(
            of: .deliver(orderingKey: orderingKey ?? event), event: event, payload: Payload(repeat each arguments),
            timeout: timeout, key: key, isCompressible: compress,
            perform: { command throws(LinkspanError) in try self.perform(command) }, cancel: { self.cancel($0) })
    }

    /// Waits for the outcome of a delivery, or asks the store for it if it has ended.
    ///
    /// Without a ``DeliveryStore`` only deliveries that still wait are known. Cancelling the task ends the wait, not
    /// the delivery.
    ///
    /// - Parameters:
    ///   - key: the key of the delivery, which may be an earlier process's.
    ///   - timeout: how long to wait.
    /// - Returns: the arguments of the reply.
    /// - Throws: ``LinkspanError``: the delivery's; `notKept` when neither the connection nor its store knows it, and
    ///   `timedOut`, `cancelled`, `bufferFull`, `released` of the wait itself.
    public func outcome(of key: String, timeout: Duration? = nil) async throws(LinkspanError) -> Payload {
        try await self.reply(to: .outcome, event: key, payload: .empty, timeout: timeout, key: key)
    }

    /// Performs a command and waits for its outcome.
    func reply(
        to kind: Command.Kind, event: String, payload: Payload, after delay: Duration? = nil, timeout: Duration?,
        key: String? = nil, isCompressible: Bool = true
    ) async throws(LinkspanError) -> Payload {
        try await Command.outcome(
            of: kind, event: event, payload: payload, after: delay, timeout: timeout, key: key,
            isCompressible: isCompressible,
            perform: { command throws(LinkspanError) in try self.perform(command) }, cancel: { self.cancel($0) })
    }
}
