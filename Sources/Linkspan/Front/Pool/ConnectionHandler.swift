public import LinkspanRuntime

/// A holder of a pooled connection, which sends and listens on it.
///
/// While it is held, the connection is kept.
///
/// Handlers of one URL and one credential source share one connection. ``release()``, or letting go of the handler,
/// ends this holder's subscriptions and gives the connection back; when the last holder has gone, the connection closes
/// after its idle timeout.
public final class ConnectionHandler: Connection {
    private struct Holding: Sendable {
        /// Nil once the connection has been given back.
        var giveBack: (@Sendable () -> Void)?
        var subscriptions: [Int: Registration] = [:]
        var lastID = 0

        /// Those of one kind, in the order in which they are called.
        func subscriptions(to subject: Subject) -> [Subscription] {
            self.subscriptions.values.filter { $0.subject == subject }.sorted { $0.order < $1.order }
                .map(\.subscription)
        }
    }

    /// The subject of a registration.
    private enum Subject: Sendable, Equatable {
        /// The messages of an event, or of all events.
        case messages(String?)
        case outgoing
        case status
    }

    private struct Registration: Sendable {
        let subject: Subject
        var order: Int
        let subscription: Subscription
    }

    let connection: PooledConnection
    /// The registrations of this holder: between its threads and the connection's executor, which removes those that
    /// have ended.
    private let holding: Lock<Holding>
    /// Raised when it takes no commands any more: it waits for those there are, or has given the connection back.
    private let takesNoMore = Flag()

    init(connection: PooledConnection, giveBack: @escaping @Sendable () -> Void) {
        self.connection = connection
        self.holding = Lock(Holding(giveBack: giveBack))
    }

    deinit { self.release() }

    /// The status of the shared connection; `released` after this handler has released it.
    public var status: ConnectionStatus {
        var status = self.connection.status
        if !self.isHeld { (status.state, status.progress) = (.released, .idle) }
        return status
    }

    /// Whether the connection has ended for all its holders.
    package var isConnectionReleased: Bool { self.connection.state == .released }

    /// The connection's clock.
    public var scheduler: any Scheduler { self.connection.scheduler }

    /// Waits for commands under way, then releases the connection.
    ///
    /// Takes no new commands from now on; listeners and the connection go on until it is done. What was sent is with
    /// the system then, or over long polling with the server, so that the process may end.
    ///
    /// - Parameter limit: how long to wait for the outcomes of all commands there are now, those of other holders
    ///   included.
    /// - Returns: the commands that still have none, as far as a connection whose listener blocks can tell. Sends and
    ///   requests among them end with the connection's other holders, or with the connection.
    public func drain(within limit: Duration) async -> [Command] {
        self.takesNoMore.raise()
        let deadline = self.scheduler.moment + limit
        let commands = await self.connection.commands(until: deadline) ?? []
        let ids = Set(commands.map(\.id))
        await self.connection.awaitOutcomes(of: ids, within: max(.zero, self.scheduler.moment.duration(to: deadline)))
        // A connection that works answers at once, also when the limit has passed.
        let patience = self.scheduler.moment + .milliseconds(100)
        let left = await self.connection.commands(until: patience)?.filter { ids.contains($0.id) } ?? commands
        self.release()
        return left
    }

    /// Releases the connection.
    ///
    /// Ends this holder's listeners, streams and publishers. Further calls to send or listen throw `released`.
    public func release() {
        self.takesNoMore.raise()
        let holding = self.holding.withLock { holding in
            defer { holding = Holding() }
            return holding
        }
        for (_, registration) in holding.subscriptions.sorted(by: { $0.key < $1.key }) {
            registration.subscription.cancel()
        }
        holding.giveBack?()
    }

    /// Connects the shared connection; see ``Connection/connect()``.
    public func connect() throws(LinkspanError) {
        try self.checkHeld()
        try self.connection.connect()
    }

    /// Makes the shared connection's next attempt at once; see ``Connection/reconnectNow()``.
    public func reconnectNow() throws(LinkspanError) {
        try self.checkHeld()
        try self.connection.reconnectNow()
    }

    /// Disconnects the shared connection, for all its holders; see ``Connection/disconnect()``.
    public func disconnect() throws(LinkspanError) {
        try self.checkHeld()
        try self.connection.disconnect()
    }

    /// Disconnects the shared connection, and gives the server a close code and a reason; see ``Connection/disconnect()``.
    ///
    /// A raw WebSocket sends both in its Close frame. Other transports have no place for them and leave them out.
    ///
    /// - Parameters:
    ///   - code: 1000 to 1003, 1007 to 1014, or one of 3000 to 4999, which are for apps.
    ///   - reason: a text for the server, of which a WebSocket sends the first 123 bytes.
    /// - Throws: ``LinkspanError`` with code `wrongState`, or `invalidConfiguration` for another code.
    public func disconnect(code: UInt16, reason: String = "") throws(LinkspanError) {
        try self.checkHeld()
        try self.connection.disconnect(LinkClosing(code: code, reason: reason))
    }

    /// Takes a command; see ``Connection/perform(_:)``.
    public func perform(_ command: consuming Command) throws(LinkspanError) {
        try self.checkTaking()
        try self.connection.perform(consume command)
    }

    /// Takes commands that belong together; see ``Connection/perform(batch:)``.
    public func perform(batch: [Command]) throws(LinkspanError) {
        try self.checkTaking()
        try self.connection.perform(batch: batch)
    }

    private func checkTaking() throws(LinkspanError) {
        guard !self.takesNoMore.isRaised else {
            throw LinkspanError(.released, "this handler has been released, or is being drained", certainty: .notSent)
        }
    }

    /// Gives up a command.
    public func cancel(_ id: Command.ID) { self.connection.cancel(id) }

    /// The commands that have not had their outcome, of all holders.
    public var commands: [Command] { get async { await self.connection.commands } }

    /// Cancels the commands of all holders for which `isMeant` returns true; they end with code `cancelled`.
    ///
    /// - Parameter isMeant: called for each of ``commands``, on the connection's executor.
    public func cancelCommands(where isMeant: @escaping @Sendable (Command) -> Bool) {
        self.connection.cancelCommands(where: isMeant)
    }

    /// Listens until the subscription or the handler ends; see ``Connection/subscribe(to:once:onMark:_:)``.
    public func subscribe(
        to event: String?, once: Bool, onMark: (@Sendable (Continuity) -> Void)?,
        _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.checkHeld()
        guard once, event != nil else {
            let subscription = try self.connection.subscribe(to: event, once: false, onMark: onMark, handler)
            return self.own(subscription, .messages(event))
        }
        // The connection sees to it that it is one; here only the registration is taken away behind it.
        let isServed = Promise<Void>()
        let subscription = try self.connection.subscribe(to: event, once: true, onMark: onMark) { message in
            handler(message)
            isServed.fulfill()
        }
        let registered = self.own(subscription, .messages(event))
        isServed.whenFulfilled { registered.cancel() }
        return registered
    }

    /// Calls a closure with each change of the status, until the subscription or the handler ends.
    @discardableResult
    public func onStatusChange(_ handler: @escaping @Sendable (StatusChange) -> Void) -> Subscription {
        guard self.isHeld else {
            // One of the connection's own, whose closures are called on its executor like those of all others.
            let ended = self.connection.onStatusChange { _ in }
            ended.cancel()
            return ended
        }
        return self.own(self.connection.onStatusChange(handler), .status)
    }

    private var isHeld: Bool { self.holding.withLock { $0.giveBack != nil } }

    var subscriptionCount: Int { self.holding.withLock { $0.subscriptions.count } }

    /// Keeps a subscription until it is cancelled, taken off or the connection is given back.
    private func own(_ subscription: Subscription, _ subject: Subject) -> Subscription {
        let registered = self.holding.withLock { holding -> Subscription? in
            guard holding.giveBack != nil else { return nil }
            holding.lastID += 1
            let id = holding.lastID
            let scheduler = self.scheduler
            let asks: @Sendable (Subscription.Wish) -> Void = { [weak self] wish in
                if case .call(let job) = wish {
                    return Subscription.call(job, through: subscription.asks, or: scheduler)
                }
                subscription.asks?(wish)
                // Before all that there are, and behind none to come.
                if case .first = wish {
                    self?.holding.withLock { holding in
                        holding.lastID += 1
                        holding.subscriptions[id]?.order = -holding.lastID
                    }
                }
            }
            let registered = Subscription(asks: asks) { [weak self] in
                subscription.cancel()
                // Let go of outside the lock.
                self?.holding.withLock { holding in
                    holding.subscriptions[id] = nil
                    // An empty dictionary keeps its room.
                    if holding.subscriptions.isEmpty { holding.subscriptions = [:] }
                }
            }
            holding.subscriptions[id] = Registration(subject: subject, order: id, subscription: registered)
            return registered
        }
        if registered == nil { subscription.cancel() }
        return registered ?? subscription
    }

    func checkHeld() throws(LinkspanError) {
        guard self.isHeld else { throw LinkspanError(.released, "this handler has been released", certainty: .notSent) }
    }
}

// MARK: - Tasks and actors on the executor

extension ConnectionHandler {
    /// Runs tasks where the callbacks of the connection run, such as `Task(executorPreference: connection.executor) { … }`.
    ///
    /// A task there that awaits a reply goes on where the reply is read, so that a round trip wakes no other thread. The
    /// rules for callbacks hold: between two waits it is short and does not block, because connections of one loop share
    /// the thread. The page *Threads and actors* says when to use it.
    ///
    /// Jobs run one at a time and never inside a callback or a call, on the executor that the connection has at that
    /// moment, and also when it has been released or its loop was stopped. It is the same for all holders.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    public var executor: any TaskExecutor { self.connection }

    /// Runs an actor where the callbacks of the connection run, as the actor's own `unownedExecutor`.
    ///
    /// Callbacks enter the actor by `assumeIsolated`. The actor has to keep the handler. Otherwise like ``executor``.
    public var unownedExecutor: UnownedSerialExecutor { self.connection.actorExecutor.asUnownedSerialExecutor() }
}

// MARK: - Listening

extension ConnectionHandler {
    /// Calls a closure with each command that a link takes, of any holder, in the order of the wire, and again when it is
    /// repeated.
    ///
    /// - Parameters:
    ///   - first: whether it is called before the existing listeners.
    ///   - handler: gets the commands.
    /// - Returns: the registration; it lasts whether or not it is kept.
    /// - Throws: ``LinkspanError`` with code `released`.
    @discardableResult
    public func onAnyOutgoing(
        first: Bool = false, _ handler: @escaping @Sendable (Command) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.checkHeld()
        let subscription = self.own(try self.connection.onAnyOutgoing(handler), .outgoing)
        if first { subscription.asks?(.first) }
        return subscription
    }

    /// The subscriptions of this handler to an event, or to every event when `event` is nil, in the order of their
    /// calls: listeners, answers, streams and waits for the next message.
    public func listeners(to event: String?) -> [Subscription] {
        self.holding.withLock { $0.subscriptions(to: .messages(event)) }
    }

    /// The subscriptions made with ``onAnyOutgoing(first:_:)``, in the order of their calls.
    public var outgoingListeners: [Subscription] { self.holding.withLock { $0.subscriptions(to: .outgoing) } }

    /// Ends all that this handler has registered for an event: listeners, answers, streams and waits for the next
    /// message.
    ///
    /// Streams end after the messages that they hold. Other holders of the connection go on listening.
    public func off(_ event: String) {
        for subscription in self.listeners(to: event) { subscription.cancel() }
    }

    /// Ends all that this handler has registered for an event; see ``off(_:)-(String)``.
    public func off<Value, Reply>(_ event: Event<Value, Reply>) { self.off(event.name) }
}
