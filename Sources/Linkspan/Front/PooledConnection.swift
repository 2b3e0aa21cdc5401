internal import LinkspanRuntime

/// The SDK's connection, as any thread sees it: its inbox and its snapshot.
///
/// The connection itself is its ``ConnectionCore``, which lives on the executor of the transport.
final class PooledConnection: Connection {
    let id: UInt64
    let scheduler: any Scheduler
    let inbox: ConnectionInbox
    let core: CoreReference
    let actorExecutor: ActorExecutor
    private let chain: InterceptorChain?
    /// Begins the keys of deliveries that have none of their own; nil when nothing asks for keys.
    private let keyPrefix: String?
    /// The member of the first argument that carries a delivery's key.
    private let keyField: String?

    init(id: UInt64, configuration: ConnectionConfiguration, environment: ConnectionEnvironment) {
        self.id = id
        self.scheduler = environment.scheduler
        let options = configuration.options
        let destination = Destination(configuration)
        let attempts = Attempts(
            AttemptRules(destination, spacing: environment.attempts.spacing),
            endpoints: destination.rotation(environment.random))
        let outgoing = Outgoing(options: configuration.sharedOptions)
        self.inbox = ConnectionInbox(
            executor: configuration.transport.executor, destination: destination, waiting: outgoing.load)
        self.core = CoreReference(
            ConnectionCore(
                id: id, inbox: self.inbox, environment: environment, destination: destination, attempts: attempts,
                outgoing: outgoing))
        self.actorExecutor = ActorExecutor(self.core)
        self.chain = InterceptorChain(options.interceptors)
        let hasKeys =
            options.deliveries.keyPlacement != nil || options.store != nil || configuration.transport.sendsKeys
        if case .field(let name) = options.deliveries.keyPlacement { self.keyField = name } else { self.keyField = nil }
        self.keyPrefix = hasKeys ? String(UInt64(environment.random() * 0x1p53), radix: 36) : nil
        guard options.store != nil else { return }
        let account = configuration.credentials.account
        self.core.post { core in core.sender.change { $0.openStore(account: account) } }
    }

    deinit {
        guard self.state != .released else { return }
        // The core, and never the connection: it is going away.
        self.core.post { $0.end(nil) }
    }

    var destination: Destination { self.inbox.withState { $0.destination } }
    var url: ConnectionURL { self.destination.url }
    var state: ConnectionState { self.inbox.withState { $0.shown.value.state } }
    /// Replies that nothing waited for any more.
    var lateReplies: UInt64 { self.inbox.withState { $0.lateReplies } }

    var status: ConnectionStatus {
        var (status, store) = self.inbox.withState { ($0.status, $0.destination.options.store) }
        status.time = self.scheduler.now
        status.store = store?.summary
        status.storedDeliveries = store?.waitingCount
        return status
    }

    /// Asks the core, on its executor.
    private func ask<Answer: Sendable>(_ question: @escaping @Sendable (ConnectionCore) -> Answer) async -> Answer {
        let box = Promise<Answer>()
        self.core.call { box.fulfill(question($0)) }
        return await box.value
    }
}

// MARK: - Lifecycle

extension PooledConnection {
    /// Makes a call: at once in a callback, otherwise on the executor, after it was checked against the snapshot.
    private func apply(
        _ call: @escaping @Sendable (inout Attempts, Moment) throws(LinkspanError) -> [Attempts.Output],
        intending intend: (inout ConnectionFacts) throws(LinkspanError) -> Bool
    ) throws(LinkspanError) {
        if let core = self.core.inTurnBehindArrivals { return try core.apply(call) }
        // Refused only when the connection has changed meanwhile, which the state tells.
        try self.core.intend(intend) { try? $0.apply(call) }
    }

    func connect() throws(LinkspanError) {
        try self.apply { attempts, now throws(LinkspanError) in
            try attempts.connect(now: now)
        } intending: { shown throws(LinkspanError) in
            switch shown.state {
            case .created where shown.progress == .idle, .disconnected: shown.beginAttempt()
            case .created, .connected, .reconnecting, .released: throw shown.state.wrongState("connect")
            }
            return true
        }
    }

    func reconnectNow() throws(LinkspanError) {
        try self.apply { attempts, now throws(LinkspanError) in
            try attempts.reconnectNow(now: now)
        } intending: { shown throws(LinkspanError) in
            guard shown.state != .released else { throw shown.state.wrongState("reconnectNow") }
            switch shown.progress {
            case .idle, .suspended, .waiting: shown.beginAttempt()
            case .obtainingCredentials, .opening, .open: return false
            }
            return true
        }
    }

    func disconnect() throws(LinkspanError) { try self.disconnect(.standard) }

    func disconnect(_ closing: LinkClosing) throws(LinkspanError) {
        try self.apply { attempts, now throws(LinkspanError) in
            try attempts.disconnect(closing, now: now)
        } intending: { shown throws(LinkspanError) in
            guard shown.state != .released, shown.state != .created || shown.progress != .idle else {
                throw shown.state.wrongState("disconnect")
            }
            (shown.state, shown.progress) = (.disconnected, .idle)
            return true
        }
    }

    func release() throws(LinkspanError) {
        try self.apply { attempts, now throws(LinkspanError) in
            try attempts.release(now: now)
        } intending: { shown throws(LinkspanError) in
            guard shown.state == .disconnected else { throw shown.state.wrongState("release") }
            (shown.state, shown.progress) = (.released, .idle)
            return true
        }
    }

    func end(_ error: LinkspanError?) {
        if let core = self.core.inTurnBehindArrivals { return core.end(error) }
        try? self.core.intend { shown throws(LinkspanError) in
            guard shown.state != .released else { return false }
            (shown.state, shown.progress) = (.released, .idle)
            return true
        } _: {
            $0.end(error)
        }
    }

    func suspend(_ reason: LinkspanError, patience: Duration?) {
        self.core.call { core in
            let (now, random) = (core.now, core.environment.random())
            core.attempt { $0.suspend(reason, patience: patience, now: now, random: random) }
        }
    }

    func resume(within spread: Duration) {
        self.core.call { core in
            let (now, delay) = (core.now, spread * core.environment.random())
            core.attempt { $0.resume(after: delay, now: now) }
        }
    }

    func adjust(_ options: ConnectionOptions) throws(LinkspanError) {
        try self.checkNotReleased()
        try self.destination.options.checkFixed(options)
        self.core.call { $0.adopt(Destination($0.destination, options: options)) }
    }

    func move(to configuration: ConnectionConfiguration) throws(LinkspanError) {
        try self.checkNotReleased()
        try self.destination.options.checkFixed(configuration.options)
        let next = Destination(configuration)
        // What was sent before the move is there before it; what is sent after it comes later.
        self.core.call { $0.move(to: next) }
    }

    func settle(within limit: Duration) async {
        await self.wait(within: limit) { $0.awaitSettlement($1) }
    }

    func awaitOutcomes(of ids: Set<Command.ID>, within limit: Duration) async {
        await self.wait(within: limit) { $0.awaitOutcomes(of: ids, $1) }
    }

    private func wait(
        within limit: Duration, _ begin: @escaping @Sendable (ConnectionCore, Promise<Void>) -> Void
    ) async {
        let box = Promise<Void>()
        self.core.call { begin($0, box) }
        await box.wait(until: self.scheduler.now + limit, by: self.scheduler)
        self.core.call { $0.sender.drains.remove(box) }
    }
}

extension ConnectionFacts {
    /// Shows the attempt that a call begins.
    fileprivate mutating func beginAttempt() {
        var number = 1
        if case .waiting(_, let attempt) = self.progress { number = attempt }
        self.progress = .obtainingCredentials(attempt: number)
        if self.state == .disconnected { (self.state, self.failure) = (.reconnecting, nil) }
    }
}

extension ConnectionInbox.State {
    fileprivate var status: ConnectionStatus {
        let facts = self.shown.value
        var status = ConnectionStatus(url: self.destination.url, facts: facts)
        status.account = self.destination.source.account
        status.link = facts.state == .connected ? self.link : nil
        status.waitingCommands = self.load.waiting
        status.lastHeard = self.lastHeard?.instant
        status.droppedMessages = self.droppedMessages
        status.history = self.history
        switch facts.state {
        // Left on purpose, or about to be.
        case .disconnected where facts.progress == .idle: ()
        case .released: ()
        case .created, .connected, .disconnected, .reconnecting: status.resumption = self.resumption
        }
        return status
    }
}

extension ConnectionOptions {
    /// Refuses options that differ in what cannot change while a connection lives.
    fileprivate func checkFixed(_ next: ConnectionOptions) throws(LinkspanError) {
        try next.validate()
        var names: [String] = []
        if self.deliveries.keyPlacement != next.deliveries.keyPlacement { names.append("deliveries.keyPlacement") }
        if self.greeting?.comparison != next.greeting?.comparison { names.append("greeting") }
        if self.store !== next.store { names.append("store") }
        if self.described["interceptors"] != next.described["interceptors"] { names.append("interceptors") }
        guard names.isEmpty else {
            throw LinkspanError(
                .conflictingOptions, "these options of a connection cannot change: \(names.joined(separator: ", "))")
        }
    }
}

// MARK: - Commands

extension PooledConnection {
    func perform(_ command: consuming Command) throws(LinkspanError) {
        guard self.chain == nil else { return try self.performIntercepted([command]) }
        try self.take(consume command)
    }

    private func take(_ command: consuming Command) throws(LinkspanError) {
        try self.checkRoomForKey(of: command)
        guard self.mustName(command) else { return try self.submit(consume command) }
        try self.submit(self.named(command))
    }

    func perform(batch: [Command]) throws(LinkspanError) {
        if self.chain == nil { try self.take(batch) } else { try self.performIntercepted(batch) }
    }

    /// Takes commands as the chain lets them through, all or none.
    ///
    /// What a member observes ends also when the commands are refused.
    private func performIntercepted(_ batch: [Command]) throws(LinkspanError) {
        var accepted: [InterceptorChain.Accepted] = []
        do throws(LinkspanError) {
            for command in batch { if let chain = self.chain { accepted.append(try self.accept(command, chain)) } }
            if let only = accepted.first, accepted.count == 1 {
                try self.take(only.command)
            } else {
                try self.take(accepted.map(\.command))
            }
        } catch {
            for command in accepted { command.observers?(.failure(error)) }
            throw error
        }
    }

    private func take(_ batch: [Command]) throws(LinkspanError) {
        for command in batch { try self.checkRoomForKey(of: command) }
        var batch = batch.map { self.mustName($0) ? self.named($0) : $0 }
        for index in batch.indices.dropFirst() { batch[index].continuesBatch = true }
        if self.core.isReachable { return try self.core.onExecutor.sender.accept(batch) }
        try self.core.submit(batch, made: self.scheduler.moment)
    }

    private func accept(
        _ command: Command, _ chain: InterceptorChain
    ) throws(LinkspanError) -> InterceptorChain.Accepted {
        do throws(LinkspanError) {
            return try chain.accept(command)
        } catch {
            self.inbox.withState { $0.droppedMessages += 1 }
            throw error
        }
    }

    /// Whether a delivery without a key of its own needs one.
    private func mustName(_ command: Command) -> Bool {
        command.isDelivery && command.key == nil && (self.keyPrefix != nil || command.wantsReceipt)
    }

    /// Refuses a delivery that cannot carry its key where the server expects it.
    private func checkRoomForKey(of command: Command) throws(LinkspanError) {
        guard let field = self.keyField, command.isDelivery, !command.payload.hasRoom(for: field) else { return }
        throw LinkspanError(
            .encodingFailed,
            "'\(command.event)' has no room for its key: its first argument must be an object without '\(field)'",
            certainty: .notSent)
    }

    private func named(_ command: Command) -> Command {
        var named = command
        named.makeKey(self.keyPrefix ?? String(UInt64.random(in: 0...UInt64.max), radix: 36))
        return named
    }

    private func submit(_ command: consuming Command) throws(LinkspanError) {
        if self.core.isReachable { return try self.core.onExecutor.sender.accept(consume command) }
        let isTimed = command.timeout != nil || command.isRequest
        try self.core.submit(command, made: isTimed ? self.scheduler.moment : nil)
    }

    var commands: [Command] { get async { await self.ask { $0.sender.outgoing.listed } } }

    /// Its ``commands``; nil when it has not answered by `deadline`, because something blocks its executor.
    func commands(until deadline: Moment) async -> [Command]? {
        let answer = Promise<[Command]?>()
        let timer = self.scheduler.schedule(at: deadline) { answer.fulfill(nil) }
        // A question that an executor which is blocked does not answer is left behind.
        self.core.call { answer.fulfill($0.sender.outgoing.listed) }
        defer { timer.cancel() }
        return await answer.value
    }

    func cancel(_ id: Command.ID) { self.core.call { core in core.sender.change { $0.cancel([id]) } } }

    func cancelCommands(where isMeant: @escaping @Sendable (Command) -> Bool) {
        self.core.call { core in
            let meant = core.sender.outgoing.listed.filter(isMeant)
            core.sender.change { $0.cancel(Set(meant.map(\.id))) }
        }
    }
}

// MARK: - Listening

extension PooledConnection {
    func subscribe(
        to event: String?, once: Bool, onMark: (@Sendable (Continuity) -> Void)?,
        _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.checkNotReleased()
        var hear = handler
        if let chain = self.chain { hear = { message in chain.handle(message) { handler(message) } } }
        let listener = EventListener(
            id: self.inbox.nextID(), isOnce: once && event != nil, onMark: onMark, hear: hear)
        self.core.call { core in
            let hasMessages = core.reader.incoming.router.add(listener, event: event)
            // Before anything that is sent from now on, which may be what brings the event.
            core.reader.tellListening()
            if hasMessages, let event { core.sender.queue.append(.replay(event: event)) }
        }
        let (core, id) = (self.core, listener.id)
        let asks: @Sendable (Subscription.Wish) -> Void = { wish in
            if case .readingPaused(let isPaused) = wish, let core = core.inTurn {
                // At once: what its reader has sent meanwhile, to read on, is the later wish of the two.
                return core.reader.incoming.setPaused(isPaused, by: id)
            }
            core.call { core in
                switch wish {
                case .readingPaused(let isPaused): core.reader.incoming.setPaused(isPaused, by: id)
                case .first: core.reader.incoming.router.moveToFront(id)
                case .call(let job): core.sender.queue.append(.call(job))
                case .confirm(let isWanted): if let event { core.reader.incoming.router.ask(id, event, isWanted) }
                }
            }
        }
        return self.subscription(asks) { core in
            core.reader.incoming.router.remove(id, event: event)
            core.reader.incoming.setPaused(false, by: id)
        }
    }

    @discardableResult
    func onAnyOutgoing(
        _ handler: @escaping @Sendable (Command) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.checkNotReleased()
        let id = self.inbox.nextID()
        self.core.call { $0.sender.listeners.add(id, handler) }
        let core = self.core
        let asks: @Sendable (Subscription.Wish) -> Void = { wish in
            if case .first = wish { core.call { $0.sender.listeners.moveToFront(id) } }
        }
        return self.subscription(asks) { core in withExtendedLifetime(core.sender.listeners.remove(id)) {} }
    }

    func onStatusChange(_ handler: @escaping @Sendable (StatusChange) -> Void) -> Subscription {
        let id = self.inbox.nextID()
        self.core.call { core in
            core.reader.incoming.observers.add(id, isCalled: false, handler)
            // Through the outputs, so that the latest change comes neither twice nor after a newer one.
            core.sender.queue.append(.introduce(observer: id))
        }
        let core = self.core
        let asks: @Sendable (Subscription.Wish) -> Void = { wish in
            if case .call(let job) = wish { core.call { $0.sender.queue.append(.call(job)) } }
        }
        return self.subscription(asks) { _ = $0.reader.incoming.observers.remove(id) }
    }

    /// A subscription that is ended on the executor, and does not keep the connection.
    private func subscription(
        _ asks: (@Sendable (Subscription.Wish) -> Void)? = nil, _ end: @escaping @Sendable (ConnectionCore) -> Void
    ) -> Subscription {
        let core = self.core
        return Subscription(asks: asks) { core.call(end) }
    }

    private func checkNotReleased() throws(LinkspanError) {
        guard self.state != .released else { throw LinkspanError(.released, "the connection has been released") }
    }
}
