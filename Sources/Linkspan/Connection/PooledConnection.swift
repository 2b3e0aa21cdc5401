internal import DequeModule
internal import LinkspanRuntime
internal import Logging

/// The SDK's connection: drives ``ConnectionCore`` and carries out its decisions.
///
/// Every input locks the core, lets it decide, and leaves effects in a queue. Whoever finds the queue unattended performs
/// it, outside the lock and in order, so that two threads can neither overtake each other nor call anyone at once.
final class PooledConnection: Connection {
    let id: UInt64
    let place: Lock<Destination>
    let greeting: Greeting?
    let store: (any DeliveryStore)?
    let environment: ConnectionEnvironment
    /// Begins the keys of deliveries that have none of their own; nil when nobody asks for keys.
    let keyPrefix: String?
    let router = EventRouter()
    let outgoing = OutgoingListeners()
    private let board = StateBoard()
    private let observers = Lock(StateObservers())
    let core: Lock<ConnectionCore>
    let drains = Lock(DrainWaiters())
    /// The latest link, which knows how the next one resumes its session.
    let latestLink = Lock<(any Link)?>(nil)

    init(id: UInt64, configuration: ConnectionConfiguration, environment: ConnectionEnvironment) {
        var environment = environment
        environment.probe = environment.observer.map {
            LockedProbe(
                $0.observe(
                    ObservedConnection(
                        id: id, endpoint: configuration.url.redacted, transport: configuration.transport.name)))
        }
        self.id = id
        self.place = Lock(Destination(configuration, environment))
        self.greeting = configuration.options.greeting
        self.store = configuration.options.store
        self.environment = environment
        let machine = ConnectionStateMachine(
            timing: ConnectionStateMachine.Timing(
                configuration.options, attemptSpacing: environment.attempts.spacing),
            retry: configuration.options.retry, canRenewCredentials: configuration.credentials.isRenewable)
        var commands = CommandStateMachine(options: configuration.options)
        if let store = configuration.options.store { commands.restore(store.kept().map(Command.init(restored:))) }
        self.core = Lock(
            ConnectionCore(
                machine: machine, commands: commands, isGreeted: configuration.options.greeting != nil,
                trace: FrameTrace(capacity: configuration.options.trace)))
        let names = configuration.options.deliveries.key != .none || configuration.options.store != nil
        self.keyPrefix = names ? String(UInt64(environment.random() * 0x1p53), radix: 36) : nil
    }

    var destination: Destination { self.place.withLock { $0 } }
    var url: ConnectionURL { self.destination.url }
    var credentials: ConnectionCredentials { self.destination.credentials }
    var state: ConnectionState { self.core.withLock { $0.machine.state } }
    var progress: ConnectionProgress { self.core.withLock { $0.machine.progress } }
    var waitingCommands: Int { self.core.withLock { $0.commands.waitingCommands } }
    /// Replies that nobody waited for any more.
    var lateReplies: UInt64 { self.core.withLock { $0.commands.lateReplies } }
    var stateChanges: StateChanges { StateChanges(board: self.board) }

    var diagnosis: ConnectionDiagnosis {
        let now = self.now
        let history = self.board.history
        return self.core.withLock { core in
            ConnectionDiagnosis(
                url: self.url.redacted, state: core.machine.state, progress: core.machine.progress,
                lastError: core.machine.lastError, refusals: core.machine.refusals,
                waitingCommands: core.commands.waitingCommands, history: history, frames: core.trace.frames, time: now)
        }
    }

    var resumption: Resumption? {
        guard let link = self.latestLink.withLock({ $0 }) else { return self.destination.resumption }
        // Left on purpose: it may still be on its way to the link.
        return self.core.withLock({ $0.machine.isLeft }) ? nil : link.resumption
    }

    var now: ContinuousClock.Instant { self.environment.scheduler.now }
}

// MARK: - Lifecycle

extension PooledConnection {
    func connect() throws(LinkspanError) {
        try self.decide { core, now throws(LinkspanError) in
            try core.run { machine throws(LinkspanError) in try machine.connect(now: now) }
            self.environment.attempts.spend(now: now)
        }
    }

    func disconnect() throws(LinkspanError) {
        try self.decide { core, now throws(LinkspanError) in
            try core.run { machine throws(LinkspanError) in try machine.disconnect(now: now) }
        }
    }

    func release() throws(LinkspanError) {
        try self.decide { core, now throws(LinkspanError) in
            try core.run { machine throws(LinkspanError) in try machine.release(now: now) }
        }
    }

    func retire() { self.happen { $0.retire(now: $1) } }

    func suspend(_ reason: LinkspanError, patience: Duration?) {
        let random = self.environment.random()
        self.happen { $0.suspend(reason, patience: patience, now: $1, random: random) }
    }

    func resume(within spread: Duration) {
        let delay = spread * self.environment.random()
        self.happen { $0.resume(after: delay, now: $1) }
    }

    func settle(within limit: Duration) async {
        let box = Promise<Void>()
        guard self.core.withLock({ $0.awaitFarewell(box) }) else { return }
        let timer = self.environment.scheduler.schedule(at: self.now + limit) { box.fulfill() }
        await box.value
        timer.cancel()
    }

    func onStateChange(_ handler: @escaping @Sendable (StateChange) -> Void) -> Subscription {
        let id = self.observers.withLock { $0.add(handler) }
        // Through the effects, so that the latest change comes neither twice nor after a newer one.
        self.update { $0.introduce(observer: id) }
        return Subscription { [weak self] in self?.observers.withLock { $0.remove(id) } }
    }

    private func introduce(_ id: UInt64) {
        let handler = self.observers.withLock { $0.introduce(id) }
        if let handler, let latest = self.board.latest { handler(latest) }
    }
}

// MARK: - Listening

extension PooledConnection {
    func subscribe(
        to event: String?, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.checkNotReleased()
        return self.router.add(event: event, handler)
    }
}

// MARK: - What links report

extension PooledConnection {
    func receive(_ events: [LinkEvent], from link: LinkAdapter) {
        // What was decided before this arrived is announced before it, whichever thread does the announcing, and what a
        // newer link brings while this is under way comes behind it.
        switch self.core.withLock({ $0.beginReceiving(events, from: link, self.environment.scheduler) }) {
        case .lined: return
        case .current: self.bring(events[...], from: link)
        case .former: self.dismiss(events[...])
        }
        if self.core.withLock({ $0.endReceiving() }) { self.drain() }
    }

    private func process(_ events: ArraySlice<LinkEvent>, from link: LinkAdapter) {
        let isCurrent = self.core.withLock { $0.machine.isCurrent(link.epoch) }
        isCurrent ? self.bring(events, from: link) : self.dismiss(events)
    }

    /// Takes note of what a former link still says.
    private func dismiss(_ events: ArraySlice<LinkEvent>) {
        if case .closed = events.last { self.formerLinkEnded() }
    }

    private func bring(_ events: ArraySlice<LinkEvent>, from link: LinkAdapter) {
        for event in events {
            switch event {
            case .message(let message):
                self.deliver(message, from: link)
            case .reply(let id, let payload):
                self.reply(id, payload)
            case .opened(let info):
                // At once: what is lined up may be messages of this very link.
                for effect in self.core.withLock({ $0.linkOpened(link, info, now: self.now) }) { self.perform(effect) }
            case .writable:
                self.update { core in core.command { $0.linkIsWritable(effects: &$1) } }
            case .closed(let error):
                self.closed(error, link)
                return
            }
        }
    }

    private func closed(_ error: LinkspanError, _ link: LinkAdapter) {
        // Given up by a listener of this very batch: then it is an end that was asked for.
        guard self.core.withLock({ $0.machine.isCurrent(link.epoch) }) else { return self.formerLinkEnded() }
        let random = self.environment.random()
        self.happen { $0.linkClosed(epoch: link.epoch, error, now: $1, random: random) }
    }

    private func formerLinkEnded() {
        for waiter in self.core.withLock({ $0.formerLinkEnded() }) { waiter.fulfill() }
    }

    private func deliver(_ inbound: InboundMessage, from adapter: LinkAdapter) {
        var replier: Replier?
        // Of a former link nothing can be answered, least of all over a newer one.
        if let replyID = inbound.replyID, let link = self.core.withLock({ $0.link(of: adapter.epoch) }) {
            replier = Replier { link.reply(to: replyID, with: $0) }
        }
        self.environment.probe?.received(inbound.event, bytes: inbound.payload.byteCount)
        self.router.route(Message(event: inbound.event, payload: inbound.payload, replier: replier))
    }
}

// MARK: - Decide, then act

extension PooledConnection {
    private func decide(
        _ body: (inout ConnectionCore, ContinuousClock.Instant) throws(LinkspanError) -> Void
    ) throws(LinkspanError) {
        let now = self.now
        let mustDrain = try self.core.withLock { core throws(LinkspanError) -> Bool in
            try body(&core, now)
            core.rearm()
            return core.beginDraining()
        }
        if mustDrain { self.drain() }
    }

    func update(_ body: (inout ConnectionCore) -> Void) {
        let mustDrain = self.core.withLock { core in
            body(&core)
            core.rearm()
            return core.beginDraining()
        }
        if mustDrain { self.drain() }
    }

    func happen(
        _ event: (inout ConnectionStateMachine, ContinuousClock.Instant) -> [ConnectionStateMachine.Action]
    ) {
        let now = self.now
        self.update { core in core.run { event(&$0, now) } }
    }

    func drain() {
        while true {
            let effects = self.core.withLock { $0.takeEffects() }
            guard !effects.isEmpty else { return }
            for effect in effects { self.perform(effect) }
        }
    }

    private func perform(_ effect: Effect) {
        switch effect {
        case .announce(let change): self.announce(change)
        case .provideCredentials(let epoch, let reason): self.provideCredentials(epoch: epoch, reason)
        case .openLink(let epoch, let attempt, let credentials): self.open(epoch: epoch, attempt, credentials)
        case .endLink(let link, let politely): politely ? link.close() : link.abort()
        case .stopWaiting(let wait): wait.cancel()
        case .cancelTask(let task): task.cancel()
        case .finish(let command, let outcome): self.finish(command, outcome)
        case .greet(let epoch): self.greet(epoch: epoch)
        case .giveBackAdmission: self.environment.attempts.giveBack()
        case .flush: self.flush()
        case .transmit(let outgoing, let link, let writables): self.transmit(outgoing, link, writables: writables)
        case .introduce(let observer): self.introduce(observer)
        case .process(let events, let link): self.process(events, from: link)
        case .arm(let instant): self.arm(instant)
        }
    }

    private func announce(_ change: StateChange) {
        self.environment.logger.debug(
            "Connection changed state",
            metadata: [
                "url": "\(self.url.redacted)", "from": "\(change.from.rawValue)", "to": "\(change.to.rawValue)",
                "error": "\(change.reason.error.map(\.description) ?? "none")",
            ])
        if change.to == .connected {
            self.credentials.linkOpened { [weak self] in self?.push($0) ?? false }
        } else if change.from == .connected {
            self.credentials.linkEnded()
        }
        self.environment.probe?.changed(change)
        self.board.post(change)
        if let mark = change.continuity { self.router.mark(mark) }
        for handler in self.observers.withLock({ $0.introduced }) { handler(change) }
        if change.to == .released { self.finishListening() }
    }

    private func arm(_ instant: ContinuousClock.Instant) {
        let timer = self.environment.scheduler.schedule(at: instant) { [weak self] in self?.timerFired() }
        let superseded = self.core.withLock { core -> (any ScheduledWork)? in
            guard core.armed == instant else { return timer }
            defer { core.timer = timer }
            return core.timer
        }
        superseded?.cancel()
    }

    private func timerFired() {
        let random = self.environment.random()
        let now = self.now
        self.update { core in
            core.timerBegan()
            core.run { machine in
                if machine.needsAdmission(now: now) { machine.admit(at: self.environment.attempts.reserve(now: now)) }
                return machine.timerFired(now: now, random: random)
            }
            core.command { $0.expire(now: now, effects: &$1) }
        }
    }
}

// MARK: - Attempts

extension PooledConnection {
    private func provideCredentials(epoch: UInt64, _ reason: CredentialRequest.Reason) {
        let wait = self.credentials.obtain(reason) { [weak self] in self?.credentialsEnded(epoch: epoch, $0) }
        guard let wait else { return }
        let isKept = self.core.withLock { $0.keep(wait, epoch: epoch) }
        if !isKept { wait.cancel() }
    }

    private func credentialsEnded(epoch: UInt64, _ outcome: Result<IssuedCredentials, LinkspanError>) {
        switch outcome {
        case .success(let issued):
            self.update { $0.credentialsArrived(epoch: epoch, issued, now: self.now) }
        case .failure(let error):
            let random = self.environment.random()
            self.happen { $0.credentialsFailed(epoch: epoch, error, now: $1, random: random) }
        }
    }

    /// Gives renewed credentials to the open link; false when there is none or it cannot take them.
    private func push(_ credentials: Credentials) -> Bool {
        let link = self.core.withLock { $0.machine.state == .connected ? $0.link : nil }
        return link?.renewCredentials(credentials) ?? false
    }

    private func open(epoch: UInt64, _ attempt: Int, _ credentials: Credentials) {
        // Overtaken by a move: this place is no longer meant.
        guard self.core.withLock({ $0.machine.isCurrent(epoch) }) else { return }
        let destination = self.destination
        self.environment.probe?.attempting(attempt)
        let request = LinkRequest(
            url: credentials.url ?? destination.url, credentials: credentials, attempt: attempt,
            deadline: destination.options.openDeadline, resumption: self.resumption)
        let adapter = LinkAdapter(connection: self, epoch: epoch)
        let link = destination.transport.makeLink(request, receiver: adapter)
        // Kept before it opens, because its first event may come from another thread at once.
        guard self.core.withLock({ $0.keep(link, epoch: epoch) }) else { return }
        self.latestLink.withLock { $0 = link }
        link.open()
    }
}

/// Stands between a link and its connection, so that a late word of a former link is recognised.
final class LinkAdapter: LinkReceiver {
    let epoch: UInt64
    private weak let connection: PooledConnection?

    init(connection: PooledConnection, epoch: UInt64) {
        self.connection = connection
        self.epoch = epoch
    }

    func receive(_ events: [LinkEvent]) { self.connection?.receive(events, from: self) }
}
