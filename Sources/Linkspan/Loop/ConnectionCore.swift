internal import DequeModule
internal import LinkspanRuntime

/// A connection's state and everything it does, confined to the connection's executor.
///
/// It is entered in *turns*. An input changes state and leaves effects; the effects are performed in order, and effects
/// that they cause come behind them. So callbacks never nest, and what a callback asks for happens after it has
/// returned.
final class ConnectionCore {
    /// The link, which is called where it is: a reference to it for each message costs more than a clock.
    ///
    /// What a link brings while it is being called waits for the next turn, so that the core cannot let go of it meanwhile.
    struct OwnedLink: ~Copyable {
        let link: any Link
    }

    let id: UInt64
    let inbox: ConnectionInbox
    let environment: ConnectionEnvironment
    let store: (any DeliveryStore)?
    /// The interceptors; nil when there are none.
    let chain: InterceptorChain?
    private(set) var executor: any JobExecutor
    var destination: Destination
    let probe: (any ConnectionProbe)?
    var credentials: ConnectionCredentials
    var machine: ConnectionStateMachine
    /// The machine's epoch, looked at for each message.
    var epoch: UInt64?
    /// The machine's ``ConnectionStateMachine/isLeft``, looked at for each read.
    var isLeft = false
    /// The machine's deadline.
    var machineDeadline: Moment? { didSet { self.hasNewDeadline = true } }
    /// Whether the machine's deadline has been set since the timer was last compared with it.
    private var hasNewDeadline = true
    // Its methods call nobody, so that no access meets another; the check costs a twentieth of a message.
    @exclusivity(unchecked) var commands: CommandStateMachine
    let router = EventRouter()
    // Looked at for each message or turn, as are the next ones; nothing is called while they change.
    @exclusivity(unchecked) var outgoingListeners: [(id: UInt64, handler: @Sendable (Command) -> Void)] = []
    @exclusivity(unchecked) var slowListeners: SlowListeners
    var observers = StatusObservers()
    /// The listeners that want nothing to be read for now.
    @exclusivity(unchecked) var pausing: Set<UInt64> = []
    /// Whether a message or a reply has come over the link.
    var hasServerSpoken = false
    /// Whether the link was told to read no further.
    var isReadingPaused = false
    @exclusivity(unchecked) var drains = DrainWaiters()
    @exclusivity(unchecked) private(set) var ownedLink: OwnedLink?
    /// The replies that wait for room; nil while the link has some.
    @exclusivity(unchecked) var waitingReplies: WaitingReplies?
    /// The latest link, which knows how the next one resumes its session.
    var latestLink: (any Link)? { didSet { self.isResumptionFixed = false } }
    /// Whether the next link resumes from what was published last: the latest was given up, and goes past messages that
    /// are not delivered any more.
    var isResumptionFixed = false
    /// The URL of the latest link.
    var lastEndpoint: ConnectionURL?
    /// The credentials of the attempt that is under way.
    var attemptCredentials = Credentials()
    var credentialWait: CredentialWait?
    var greetingTask: Task<Void, Never>?
    /// The number of the measurements by ``ConnectionOptions/probeEvent`` that go on; those with another number are over.
    var probing: UInt64 = 0
    /// The command of the latest measurement, which is no message of the app.
    var probingCommand: Command.ID?
    /// Links that were told to end and have not ended yet.
    var endingLinks = 0
    var farewells: [Promise<Void>] = []
    /// The knowledge of the store about the account's sessions; nil without a store.
    var sessions: Boxed<StoredSessions>?
    /// The calls for the store at the end of the turn.
    @exclusivity(unchecked) private var storeCalls: [StoreCall] = []
    /// Deliveries with the outcomes that the store is told at the end of the turn; they are completed behind that.
    @exclusivity(unchecked) var recorded: [(Command, Result<Payload, LinkspanError>)] = []
    /// Rows and outcomes that the store has not committed yet.
    private var storeWrites = 0
    /// Whether the next link is to end as if the server had refused the credentials; an inspector asks for that.
    var refusesNext = false
    // Taken out one by one, before each is performed.
    @exclusivity(unchecked) var effects: Deque<Effect> = []
    @exclusivity(unchecked) private var timer: (due: Moment, work: any ScheduledWork)?
    private var publishedLoad: ConnectionLoad
    private var publishedOpen = false
    private(set) var publishedResumption: Secret?
    private var isPerforming = false
    /// Whether a change of state was announced in this turn.
    private var hasAnnounced = false
    /// The items that had arrived from other threads when the turn began and wait to be dealt with.
    @exclusivity(unchecked) private var arrived: Deque<ConnectionInbox.Item> = []
    /// Whether items were taken in the midst of the turn.
    private var hasTaken = false
    /// Whether a link is being called, which must not call back.
    @exclusivity(unchecked) var isCallingLink = false
    /// Whether the published resumption may be out of date.
    var isResumptionStale = false
    /// The executor on which the next turn is made, when the connection is moving there.
    private var nextExecutor: (any JobExecutor)?
    /// Effects that have to wait until the connection has moved there.
    private var deferred: [Effect] = []

    init(id: UInt64, inbox: ConnectionInbox, configuration: consuming Prepared) {
        self.id = id
        self.inbox = inbox
        self.environment = configuration.environment
        self.store = configuration.destination.options.store
        self.chain = InterceptorChain(configuration.destination.options.interceptors)
        self.executor = configuration.destination.transport.executor
        self.destination = configuration.destination
        self.credentials = ConnectionCredentials(configuration.destination)
        self.probe = configuration.environment.observer?.observe(Self.observed(id, configuration.destination))
        self.publishedLoad = configuration.commands.load
        self.machine = configuration.machine
        self.commands = configuration.commands
        self.slowListeners = SlowListeners(limit: configuration.destination.options.slowListener)
        self.publishedResumption = configuration.destination.resumption
        if self.store != nil { self.sessions = Boxed(StoredSessions()) }
        if self.publishedResumption != nil { self.machine.followsFormerSession() }
    }

    /// The parts that a core begins with.
    struct Prepared: ~Copyable {
        let environment: ConnectionEnvironment
        let destination: Destination
        let machine: ConnectionStateMachine
        let commands: CommandStateMachine
    }

    static func observed(_ id: UInt64, _ destination: Destination) -> ObservedConnection {
        ObservedConnection(id: id, endpoint: destination.url.description, transport: destination.transport.name)
    }

    var link: (any Link)? {
        get { self.ownedLink?.link }
        set {
            self.ownedLink = newValue.map { OwnedLink(link: $0) }
            // They answer messages of the former link, and no other link can carry them.
            self.waitingReplies = nil
        }
    }

    var reference: CoreReference { CoreReference(self) }

    var now: Moment { self.environment.scheduler.moment }
}

// MARK: - Turns

extension ConnectionCore {
    /// Makes a turn.
    ///
    /// - Parameters:
    ///   - items: what has arrived from other threads, which comes first.
    ///   - body: the reason for the turn.
    func makeTurn(_ items: consuming Deque<ConnectionInbox.Item>, _ body: (ConnectionCore) -> Void) {
        let hasTaken = !items.isEmpty
        if hasTaken { self.arrived = consume items }
        CurrentTurn.make(of: self) {
            if hasTaken { self.takeItems() }
            body(self)
            self.performEffects()
            if !self.pausing.isEmpty || self.isReadingPaused { self.pauseOrResumeReading() }
            self.rearm()
            self.publishLoad(hasTaken: hasTaken || self.hasTaken)
            self.hasTaken = false
            if self.hasAnnounced {
                // A connection that rests should not keep the room that opening it has taken.
                self.hasAnnounced = false
                if self.effects.isEmpty { self.effects = [] }
            }
            if self.isResumptionStale {
                self.publishResumption()
                self.keepSession()
            }
        }
        // Behind the turn: whatever the store's executor runs at once is not part of it.
        if self.hasStoreCalls { self.handOverStoreCalls() }
        // In a turn of its own, which also moves the connection: from there on it belongs to the other executor.
        if !self.recorded.isEmpty { return self.completeRecorded() }
        assert(self.executor.isCurrent, "the connection has moved within its turn")
        if let executor = self.nextExecutor.take() { self.move(to: executor) }
    }

    /// Deals with what had arrived when the turn began.
    private func takeItems() {
        while let item = self.arrived.popFirst() {
            self.take(consume item)
            self.performEffects()
        }
        // Gives the memory back.
        self.arrived = []
    }

    /// Deals with what has arrived before a call that skipped the inbox: in this turn, or before it and still to be done.
    func takeArrived() {
        self.hasTaken = true
        if let newer = self.inbox.takeItems(on: self.executor) { self.arrived.append(contentsOf: newer) }
        while let item = self.arrived.popFirst() { self.take(consume item) }
    }

    private func take(_ item: consuming ConnectionInbox.Item) {
        switch consume item {
        case .command(let command, let made):
            do throws(LinkspanError) {
                try self.acceptArrived(command, made: made)
            } catch {
                self.effects.append(.finish(command, .failure(error)))
            }
        case .greeting(let command, let epoch, let made):
            self.acceptGreeting(command, epoch: epoch, made: made)
        case .call(let call):
            call(self)
        case .intent(let call):
            call(self)
            self.inbox.intentEnded(self.published)
        }
    }

    /// Performs the effects there are, and those that they cause.
    func performEffects() {
        guard !self.isPerforming else { return }
        self.isPerforming = true
        while let effect = self.effects.popFirst() { self.perform(effect) }
        self.isPerforming = false
    }

    private func perform(_ effect: Effect) {
        switch effect {
        // A link is made and called on its own executor.
        case .openLink where self.nextExecutor != nil: self.deferred.append(effect)
        case .openLink where self.sessions?.value.mustWait(effect) == true: self.waitForSession()
        case .announce(let change):
            self.hasAnnounced = true
            self.announce(change)
        case .tellProgress(let progress): self.tell(.progress(progress))
        case .provideCredentials(let epoch, let reason): self.provideCredentials(epoch: epoch, reason)
        case .openLink(let epoch, let attempt, let credentials): self.open(epoch: epoch, attempt, credentials)
        case .endLink(let link, let politely): self.calling { politely ? link.close() : link.abort() }
        case .finish(let command, let outcome): self.finish(command, outcome)
        case .greet(let epoch): self.greet(epoch: epoch)
        case .giveBackAdmission: self.environment.attempts.giveBack()
        case .flush: self.flush()
        case .pauseFlush(let number, let pause): self.pauseFlush(number, pause)
        case .introduce(let observer): self.introduce(observer)
        case .replay(let event): self.replay(event)
        case .tellOutgoing(let command): self.tellOutgoing(command)
        case .callStore(let call): self.tellStore(call)
        case .retryStore(let session, let error): self.retryStore(session: session, error)
        case .answer(let answer): answer()
        }
    }

    /// Calls a link, the observer or a policy of the app: what these ask for meanwhile happens after the turn.
    func calling<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let former = self.isCallingLink
        self.isCallingLink = true
        defer { self.isCallingLink = former }
        return try body()
    }

    /// Publishes whether the link takes commands at once, before the turn ends.
    func publishFlow() {
        self.publishedOpen = self.commands.isFlowing
        self.inbox.publish(isOpen: self.publishedOpen)
    }

    /// Publishes how much waits, if that has changed.
    private func publishLoad(hasTaken: Bool) {
        let (load, isOpen) = (self.commands.load, self.commands.isFlowing)
        let keys = self.commands.takeKeyChanges()
        guard hasTaken || load != self.publishedLoad || isOpen != self.publishedOpen || !keys.isEmpty else { return }
        if let probe = self.probe, load.waiting != self.publishedLoad.waiting {
            probe.queueChanged(depth: load.waiting, limit: self.destination.options.buffer.commands)
        }
        self.publishedLoad = load
        self.publishedOpen = isOpen
        self.inbox.publish(load, keys: keys, isOpen: isOpen)
    }

    /// Publishes what the next link resumes from, if that has changed.
    func publishResumption() {
        self.isResumptionStale = false
        self.publish(resumption: self.resumption)
    }

    func publish(resumption: Secret?) {
        guard resumption != self.publishedResumption else { return }
        self.publishedResumption = resumption
        self.inbox.withState { $0.resumption = resumption }
    }

    /// Lives on another executor from the next turn on.
    func leave(for executor: any JobExecutor) {
        self.nextExecutor = executor === self.executor ? nil : executor
    }

    private func move(to executor: any JobExecutor) {
        self.timer?.work.cancel()
        self.timer = nil
        self.executor = executor
        self.inbox.move(to: executor)
        // From here on the core belongs to the other executor, which goes on with what was deferred and sets the timer.
        self.inbox.post(
            { core in
                core.effects.append(contentsOf: core.deferred)
                core.deferred = []
            }, to: self.reference)
    }
}

// MARK: - The store

extension ConnectionCore {
    /// Asks something of the store, at the end of the turn.
    func tellStore(_ call: StoreCall) {
        self.storeCalls.append(call)
        if call.isWrite { self.storeWrites += 1 }
    }

    /// Whether the store is to be asked something at the end of the turn.
    var hasStoreCalls: Bool { !self.storeCalls.isEmpty }

    /// Passes the calls of a turn to the store's executor in one job, so that it can commit them together.
    private func handOverStoreCalls() {
        guard let store = self.store else { return }
        let calls = self.storeCalls
        self.storeCalls = []
        let (inbox, reference) = (self.inbox, self.reference)
        store.executor.execute {
            for call in calls { call.make(on: store) { inbox.post($0, to: reference) } }
        }
    }

    /// The store has answered a write.
    func storeWrote() {
        self.storeWrites -= 1
        self.settleIfQuiet()
    }

    /// Whether no link is left that was told to end, and the store has committed all it was given.
    var isQuiet: Bool { self.endingLinks == 0 && self.storeWrites == 0 }
}

// MARK: - The timer

extension ConnectionCore {
    /// Makes sure that a timer runs for the earliest deadline.
    private func rearm() {
        // Dates are looked at only when there are new ones: they come from a library that hides their form.
        let isEarlier = self.commands.takeEarlierDeadline()
        guard self.timer == nil || isEarlier || self.hasNewDeadline else { return }
        self.hasNewDeadline = false
        guard let wanted = Optional.earliest(self.machineDeadline, self.commands.deadline) else { return }
        if let timer = self.timer {
            guard wanted < timer.due else { return }
            timer.work.cancel()
        }
        let work = self.later(at: wanted) { core in
            core.timer = nil
            core.timerFired()
        }
        self.timer = (wanted, work)
    }

    /// Makes a turn at `instant`, unless it is cancelled.
    func later(
        at instant: Moment, _ body: @escaping @Sendable (ConnectionCore) -> Void
    ) -> any ScheduledWork {
        let (inbox, reference, executor) = (self.inbox, self.reference, self.executor)
        return self.environment.scheduler.schedule(at: instant, on: executor) {
            inbox.enter(reference, on: executor, body)
        }
    }

    private func timerFired() {
        let (now, random) = (self.now, self.environment.random())
        let stage = self.link?.openingStage
        let isUp = self.machine.state == .connected
        self.run { machine in
            if self.commands.hasRequests, machine.mayPutOffReturn(now: now) { machine.putOffReturn(now: now) }
            if machine.needsAdmission(now: now) { machine.admit(at: self.environment.attempts.reserve(now: now)) }
            return machine.timerFired(now: now, random: random, openingStage: stage)
        }
        if isUp, self.machine.state != .connected { self.environment.attempts.spend(now: now) }
        self.commands.expire(now: now, effects: &self.effects)
    }
}
