internal import LinkspanRuntime

/// A core in the hands of any thread: what it is asked goes through its inbox, and it is reached on its executor alone.
// Unchecked because the compiler cannot see which executor runs a job; debug builds check it on each access.
struct CoreReference: @unchecked Sendable {
    private let core: ConnectionCore

    init(_ core: ConnectionCore) { self.core = core }

    private static let turn = ThreadMark()

    /// The inbox, for any thread.
    var inbox: ConnectionInbox { self.core.inbox }

    /// The core, on its executor.
    var onExecutor: ConnectionCore {
        assert(self.core.home.executor.isCurrent, "reached from outside the connection's executor")
        return self.core
    }

    /// The core when the caller is one of its callbacks, or is called by one.
    ///
    /// Nil inside a call on a link: what a link or an observer asks for meanwhile happens after the turn.
    var inTurn: ConnectionCore? { self.isReachable ? self.core : nil }

    /// The same for a call that may take back what other threads have asked for: behind all that has arrived from them.
    var inTurnBehindArrivals: ConnectionCore? {
        guard let core = self.inTurn else { return nil }
        core.takeArrived()
        return core
    }

    /// Whether the caller is one of its callbacks, or is called by one, and no link is being called.
    var isReachable: Bool { self.isInTurn && !self.core.sender.queue.isCalling }

    /// Whether the caller is inside a turn of the core.
    var isInTurn: Bool { Self.turn.isSet(to: self.core) }

    /// Runs `body` as a turn of the core.
    func markTurn(_ body: () -> Void) { Self.turn.set(to: self.core, body) }
}

// MARK: - Through the inbox

extension CoreReference {
    /// Posts a call for the core; never refused.
    func post(_ call: @escaping @Sendable (ConnectionCore) -> Void) {
        self.wake(self.inbox.submit { call(self.onExecutor) })
    }

    /// Calls the core: at once when the caller is one of its callbacks, on its executor otherwise.
    func call(_ body: @escaping @Sendable (ConnectionCore) -> Void) {
        if let core = self.inTurnBehindArrivals { body(core) } else { self.post(body) }
    }

    /// Runs a job of a task, in the present turn where that has room for one, and otherwise in a turn of its own.
    func run(_ job: @escaping @Sendable () -> Void) {
        if let core = self.inTurn, core.admitJob() { return core.sender.queue.append(.call(job)) }
        let executor = self.inbox.withState { $0.executor }
        executor.execute { self.enter(on: executor) { $0.sender.queue.append(.call(job)) } }
    }

    /// Takes a command in, if there is room.
    ///
    /// - Throws: `released`, `bufferFull`, `disconnected`; so do the others.
    func submit(_ command: Command, made: Moment?) throws(LinkspanError) {
        self.wake(try self.inbox.submit(command, made: made))
    }

    /// Takes commands in that belong together, if there is room for all.
    func submit(_ batch: [Command], made: Moment) throws(LinkspanError) {
        let (executor, refusal) = self.inbox.submit(batch, made: made)
        self.wake(executor)
        if let refusal { throw refusal }
    }

    /// Takes a command of a greeting in.
    func submit(greeting command: Command, epoch: UInt64, made: Moment) throws(LinkspanError) {
        self.wake(try self.inbox.submit(greeting: command, epoch: epoch, made: made))
    }

    /// Checks a call against the snapshot, publishes its outcome, and has the core make it.
    ///
    /// - Parameters:
    ///   - intend: changes the snapshot to what the call will make of it; returns false when there is nothing to do.
    ///   - call: makes the call.
    /// - Throws: what `intend` throws.
    func intend(
        _ intend: (inout ConnectionFacts) throws(LinkspanError) -> Bool,
        _ call: @escaping @Sendable (ConnectionCore) -> Void
    ) throws(LinkspanError) {
        self.wake(try self.inbox.submit({ call(self.onExecutor) }, intending: intend))
    }

    /// Makes a turn of the core: deals with what has arrived, then with `body`.
    ///
    /// - Parameters:
    ///   - executor: the executor that calls. When the connection has moved to another meanwhile, the turn is made there.
    ///   - body: the reason for the turn.
    func enter(on executor: any JobExecutor, _ body: @escaping @Sendable (ConnectionCore) -> Void) {
        guard let items = self.inbox.takeItems(on: executor) else { return self.post(body) }
        self.onExecutor.makeTurn(items, body)
    }

    private func wake(_ executor: (any JobExecutor)?) {
        executor?.execute { [executor] in if let executor { self.enter(on: executor) { _ in } } }
    }
}
