internal import LinkspanLock

/// What a caller holds of a pooled connection: operates it and listens to it.
///
/// While it is held, the connection is kept.
///
/// Handlers of one URL share one connection. ``release()``, or letting go of the handler, ends this holder's
/// subscriptions and gives the connection back; when the last holder has gone, the connection closes after its linger.
public final class ConnectionHandler: MessageChannel {
    private struct Holding: Sendable {
        /// Nil once the connection has been given back.
        var giveBack: (@Sendable () -> Void)?
        var subscriptions: [UInt64: Subscription] = [:]
        var lastID: UInt64 = 0
    }

    let connection: any Connection
    private let holding: Lock<Holding>

    init(connection: any Connection, giveBack: @escaping @Sendable () -> Void) {
        self.connection = connection
        self.holding = Lock(Holding(giveBack: giveBack))
    }

    deinit { self.release() }

    /// The endpoint.
    public var url: ConnectionURL { self.connection.url }
    /// The present state of the shared connection.
    public var state: ConnectionState { self.connection.state }
    /// What the shared connection is doing inside its state.
    public var progress: ConnectionProgress { self.connection.progress }
    /// The state as a sequence.
    public var stateChanges: StateChanges { self.connection.stateChanges }
    /// Commands that wait, of all holders.
    public var waitingCommands: Int { self.connection.waitingCommands }

    /// What the shared connection is doing, why, and what happens next.
    public var diagnosis: ConnectionDiagnosis { self.connection.diagnosis }

    /// Gives the connection back.
    ///
    /// Further calls to send or listen throw `released`.
    public func release() {
        let holding = self.holding.withLock { holding in
            defer { holding = Holding() }
            return holding
        }
        for subscription in holding.subscriptions.values { subscription.cancel() }
        holding.giveBack?()
    }

    /// Connects the shared connection; see ``MessageChannel/connect()``.
    public func connect() throws(LinkspanError) {
        try self.checkHeld()
        try self.connection.connect()
    }

    /// Disconnects the shared connection, for all its holders; see ``MessageChannel/disconnect()``.
    public func disconnect() throws(LinkspanError) {
        try self.checkHeld()
        try self.connection.disconnect()
    }

    /// Takes a command; see ``MessageChannel/perform(_:)``.
    public func perform(_ command: Command) throws(LinkspanError) {
        try self.checkHeld()
        try self.connection.perform(command)
    }

    /// Gives up a command.
    public func cancel(_ id: Command.ID) { self.connection.cancel(id) }

    /// The commands that have not had their outcome, of all holders.
    public var commands: [CommandStatus] { self.connection.commands }

    /// Gives up the commands that are meant, whichever holder's; see ``MessageChannel/cancelCommands(where:)``.
    @discardableResult
    public func cancelCommands(where isMeant: (CommandStatus) -> Bool) -> Int {
        self.connection.cancelCommands(where: isMeant)
    }

    /// Listens until the subscription or the handler ends; see ``MessageChannel/subscribe(to:_:)``.
    public func subscribe(
        to event: String?, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.checkHeld()
        return self.own(try self.connection.subscribe(to: event, handler))
    }

    /// Hears of state changes until the subscription or the handler ends.
    public func onStateChange(_ handler: @escaping @Sendable (StateChange) -> Void) -> Subscription {
        guard self.holding.withLock({ $0.giveBack != nil }) else { return Subscription {} }
        return self.own(self.connection.onStateChange(handler))
    }

    /// Messages as a sequence; see ``MessageChannel/events(_:capacity:)``.
    public func events(_ event: String?, capacity: Int) throws(LinkspanError) -> EventStream {
        try self.checkHeld()
        let stream = try self.connection.events(event, capacity: capacity)
        stream.queue.own(self.own(Subscription { [weak queue = stream.queue] in queue?.finish() }))
        return stream
    }

    var subscriptionCount: Int { self.holding.withLock { $0.subscriptions.count } }

    /// Keeps a subscription until it is cancelled or the connection is given back.
    private func own(_ subscription: Subscription) -> Subscription {
        let id = self.holding.withLock { holding -> UInt64? in
            guard holding.giveBack != nil else { return nil }
            holding.lastID += 1
            holding.subscriptions[holding.lastID] = subscription
            return holding.lastID
        }
        guard let id else {
            subscription.cancel()
            return subscription
        }
        return Subscription { [weak self] in
            subscription.cancel()
            // Let go of outside the lock.
            _ = self?.holding.withLock { $0.subscriptions.removeValue(forKey: id) }
        }
    }

    private func checkHeld() throws(LinkspanError) {
        guard self.holding.withLock({ $0.giveBack != nil }) else {
            throw LinkspanError(.released, "this handler has been released", certainty: .notSent)
        }
    }
}
