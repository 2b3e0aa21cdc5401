internal import DequeModule
internal import LinkspanLock
internal import Logging

/// The SDK's connection: drives ``ConnectionCore`` and carries out its decisions.
///
/// Every input locks the core, lets it decide, and leaves effects in a queue. Whoever finds the queue unattended performs
/// it, outside the lock and in order, so that two threads can neither overtake each other nor call anyone at once.
final class PooledConnection: Connection {
    let url: ConnectionURL
    let id: UInt64
    private let transport: any Transport
    let options: ConnectionOptions
    private let credentials: CredentialSource
    let environment: ConnectionEnvironment
    let router = EventRouter()
    let outgoing = OutgoingListeners()
    private let board = StateBoard()
    private let observers = Lock(StateObservers())
    let core: Lock<ConnectionCore>

    init(id: UInt64, configuration: ConnectionConfiguration, environment: ConnectionEnvironment) {
        self.id = id
        self.url = configuration.url
        self.transport = configuration.transport
        self.options = configuration.options
        self.credentials = configuration.credentials
        self.environment = environment
        let timing = ConnectionStateMachine.Timing(
            credentialDeadline: configuration.options.credentialDeadline,
            openDeadline: configuration.options.openDeadline, healthyAfter: configuration.options.healthyAfter)
        let machine = ConnectionStateMachine(
            timing: timing, retry: configuration.options.retry,
            canRenewCredentials: configuration.credentials.isRenewable)
        self.core = Lock(ConnectionCore(machine: machine, options: configuration.options))
    }

    var state: ConnectionState { self.core.withLock { $0.machine.state } }
    var progress: ConnectionProgress { self.core.withLock { $0.machine.progress } }
    var waitingCommands: Int { self.core.withLock { $0.waitingCommands } }
    /// Replies that nobody waited for any more.
    var lateReplies: UInt64 { self.core.withLock { $0.lateReplies } }
    var stateChanges: StateChanges { StateChanges(board: self.board) }

    var diagnosis: ConnectionDiagnosis {
        let now = self.now
        let history = self.board.history
        return self.core.withLock { core in
            ConnectionDiagnosis(
                url: self.url.redacted, state: core.machine.state, progress: core.machine.progress,
                lastError: core.machine.lastError, waitingCommands: core.waitingCommands, history: history,
                frames: core.trace.frames, time: now)
        }
    }

    var transportName: String { self.transport.name }

    private var now: ContinuousClock.Instant { self.environment.scheduler.now }
}

// MARK: - Lifecycle

extension PooledConnection {
    func connect() throws(LinkspanError) {
        try self.decide { core, now throws(LinkspanError) in
            try core.run { machine throws(LinkspanError) in try machine.connect(now: now) }
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

    /// Tries now instead of later, when an attempt is being waited for.
    func hasten() { self.happen { $0.hasten(now: $1) } }

    func settle(within limit: Duration) async {
        let box = ReplyBox<Void>()
        guard self.core.withLock({ $0.awaitFarewell(box) }) else { return }
        let timer = self.environment.scheduler.schedule(at: self.now + limit) { box.set(()) }
        await box.value()
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

// MARK: - Messages

extension PooledConnection {
    func perform(_ command: Command) throws(LinkspanError) {
        let (acceptance, mustDrain) = try self.core.withLock {
            core throws(LinkspanError) -> (ConnectionCore.Acceptance, Bool) in
            var acceptance = try core.accept(command, now: { self.now })
            if core.isWatched { acceptance = core.watch(acceptance, at: self.scheduler) }
            if command.timeout != nil { core.rearm() }
            return (acceptance, core.beginDraining())
        }
        if case .sendNow(let link, let outgoing, let writables) = acceptance {
            self.conclude(outgoing, link, link.send(outgoing.message), writables: writables)
        }
        if mustDrain { self.drain() }
    }

    func cancel(_ id: Command.ID) { self.update { $0.cancel(id) } }

    func subscribe(
        to event: String?, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.checkNotReleased()
        return self.router.add(event: event, handler)
    }

    /// Sends a batch of the flush, and the next, until nothing is left or the link is full.
    private func flush() {
        while let (link, batch, writables, isHeard) = self.core.withLock({ $0.nextToFlush(at: self.scheduler) }) {
            for (index, outgoing) in batch.enumerated() {
                let acceptance = self.hand(outgoing, to: link, isHeard: isHeard)
                self.conclude(outgoing, link, acceptance, writables: writables)
                switch acceptance {
                case .accepted, .rejected: continue
                case .acceptedAndFull, .refused: ()
                }
                let rest = batch[(index + 1)...]
                self.update { core in
                    for outgoing in rest { core.takeBack(outgoing, refusedBy: nil, writables: writables) }
                }
                break
            }
        }
    }

    func conclude(
        _ outgoing: ConnectionCore.Outgoing, _ link: any Link, _ acceptance: SendAcceptance, writables: UInt64
    ) {
        switch acceptance {
        case .accepted:
            ()
        case .acceptedAndFull:
            self.core.withLock { $0.linkIsFull(link, writables: writables) }
        case .refused:
            self.traceRefused(outgoing)
            self.update { $0.takeBack(outgoing, refusedBy: link, writables: writables) }
            return
        case .rejected(let error):
            self.traceRefused(outgoing)
            self.update { $0.reject(outgoing, error) }
            return
        }
        self.environment.observer?.sent(self, outgoing.command)
        if outgoing.command.kind == .send { self.finish(outgoing.command, .success(.empty)) }
    }

    private func finish(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
        self.environment.observer?.finished(self, command, outcome)
        command.finish(outcome)
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
                self.update { $0.linkIsWritable() }
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
        for waiter in self.core.withLock({ $0.formerLinkEnded() }) { waiter.set(()) }
    }

    private func deliver(_ inbound: InboundMessage, from adapter: LinkAdapter) {
        var replier: Replier?
        // Of a former link nothing can be answered, least of all over a newer one.
        if let replyID = inbound.replyID, let link = self.core.withLock({ $0.link(of: adapter.epoch) }) {
            replier = Replier { link.reply(to: replyID, with: $0) }
        }
        self.environment.observer?.received(self, inbound)
        self.router.route(Message(event: inbound.event, payload: inbound.payload, replier: replier))
    }

    private func reply(_ id: UInt64, _ payload: Payload) {
        let (command, mustDrain) = self.core.withLock { core in (core.takeAwaited(id), core.beginDraining()) }
        if let command { self.finish(command, .success(payload)) }
        if mustDrain { self.drain() }
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

    private func happen(
        _ event: (inout ConnectionStateMachine, ContinuousClock.Instant) -> [ConnectionStateMachine.Action]
    ) {
        let now = self.now
        self.update { core in core.run { event(&$0, now) } }
    }

    private func drain() {
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
        case .cancelTask(let task): task.cancel()
        case .finish(let command, let outcome): self.finish(command, outcome)
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
        self.environment.observer?.changed(self, change)
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
            core.run { $0.timerFired(now: now, random: random) }
            core.expire(now: now)
        }
    }
}

// MARK: - Attempts

extension PooledConnection {
    private func provideCredentials(epoch: UInt64, _ reason: CredentialRequest.Reason) {
        switch self.credentials.kind {
        case .fixed(let credentials):
            self.update { $0.credentialsArrived(epoch: epoch, credentials, now: self.now) }
        case .provider(let provider):
            let request = CredentialRequest(url: self.url, reason: reason)
            // No parent can own this task: attempts begin in timers and callbacks. It is cancelled when its attempt ends.
            let task = Task { [weak self] in
                do {
                    let credentials = try await provider.credentials(for: request)
                    self?.credentialsArrived(epoch: epoch, credentials)
                } catch {
                    self?.credentialsFailed(epoch: epoch, error)
                }
            }
            let isKept = self.core.withLock { $0.keep(task, epoch: epoch) }
            if !isKept { task.cancel() }
        }
    }

    private func credentialsArrived(epoch: UInt64, _ credentials: Credentials) {
        self.update { $0.credentialsArrived(epoch: epoch, credentials, now: self.now) }
    }

    private func credentialsFailed(epoch: UInt64, _ error: any Error) {
        let random = self.environment.random()
        let failure = LinkspanError(.credentialsUnavailable, "the credential provider failed", cause: error)
        self.happen { $0.credentialsFailed(epoch: epoch, failure, now: $1, random: random) }
    }

    private func open(epoch: UInt64, _ attempt: Int, _ credentials: Credentials) {
        self.environment.observer?.attempting(self, attempt)
        let request = LinkRequest(
            url: self.url, credentials: credentials, attempt: attempt, deadline: self.options.openDeadline)
        let adapter = LinkAdapter(connection: self, epoch: epoch)
        let link = self.transport.makeLink(request, receiver: adapter)
        // Kept before it opens, because its first event may come from another thread at once.
        guard self.core.withLock({ $0.keep(link, epoch: epoch) }) else { return }
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
