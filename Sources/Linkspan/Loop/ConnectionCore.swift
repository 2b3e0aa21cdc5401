internal import DequeModule
internal import LinkspanRuntime
internal import Logging

/// A connection's state and everything it does, confined to the connection's executor.
///
/// It is entered in *turns*. An input changes one of its values, which leave outputs; the outputs are carried out in order,
/// see ``OutputQueue``. The values know neither one another nor the core: here alone an output of one becomes an input of
/// another.
final class ConnectionCore {
    /// The executor of a connection, and the one that it moves to.
    struct Home {
        fileprivate(set) var executor: any JobExecutor
        /// The executor on which the next turn is made, when the connection is moving there.
        fileprivate var next: (any JobExecutor)?
        /// Outputs that have to wait until the connection has moved there.
        fileprivate var deferred: [CoreOutput] = []
    }

    /// The state of the present turn.
    private struct Turn {
        /// The items that had arrived from other threads when the turn began and wait to be dealt with.
        var arrived: Deque<ConnectionInbox.Item> = []
        /// Whether items were taken.
        var hasTaken = false
        /// Whether it has room for a job of a task.
        var hasRoomForJob = false
        /// True after an output of a rare kind: the end of the turn frees the memory of the queues of outputs if they are empty.
        var freesQueues = false
        /// Whether a deadline has been set since the timer was last compared with it.
        var hasNewDeadline = true
    }

    let id: UInt64
    let inbox: ConnectionInbox
    let environment: ConnectionEnvironment
    let probe: (any ConnectionProbe)?
    /// The outgoing commands, and the link.
    let sender: CommandSender
    /// The incoming messages.
    let reader: LinkReader
    @exclusivity(unchecked) private(set) var home: Home
    // Looked at for each message, as is the turn; nothing that could reach them is called while they change (W1, W2).
    @exclusivity(unchecked) private(set) var attempts: Attempts
    /// The attempts' epoch, looked at for each message.
    private(set) var epoch: UInt64?
    let credentials: CredentialKeeper
    let session: SessionKeeper
    @exclusivity(unchecked) private var settlement = Settlement()
    @exclusivity(unchecked) private var timer: CoreTimer?
    @exclusivity(unchecked) private var turn = Turn()
    let meter = RoundTripMeter()

    init(
        id: UInt64, inbox: ConnectionInbox, environment: ConnectionEnvironment, destination: Destination,
        attempts: Attempts, outgoing: consuming Outgoing
    ) {
        self.id = id
        self.inbox = inbox
        self.environment = environment
        self.probe = environment.observer?.observe(ObservedConnection(id, at: destination.url, destination))
        (self.home, self.attempts) = (Home(executor: destination.transport.executor), attempts)
        self.credentials = CredentialKeeper(destination)
        self.session = SessionKeeper(destination)
        self.sender = CommandSender(
            outgoing, destination: destination, inbox: inbox, environment: environment, probe: self.probe)
        self.reader = LinkReader(
            Incoming(slowListenerLimit: destination.options.slowListener), sender: self.sender, inbox: inbox,
            environment: environment, probe: self.probe)
        if destination.resumption != nil { self.attempts.followsFormerSession() }
    }

    var destination: Destination { self.sender.destination }

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
        (self.turn.hasTaken, self.turn.hasRoomForJob) = (!items.isEmpty, true)
        if self.turn.hasTaken { self.turn.arrived = consume items }
        self.reference.markTurn {
            if self.turn.hasTaken {
                while self.takeNext() { self.carryOutOutputs() }
                // Gives the memory back.
                self.turn.arrived = []
            }
            body(self)
            self.carryOutOutputs()
            self.endTurn()
        }
        // Behind the turn: whatever the store's executor runs at once is not part of it.
        if self.sender.store.hasCalls { self.callStore() }
        // In a turn of its own, which also moves the connection: from there on it belongs to the other executor.
        if self.sender.store.hasRecorded {
            let recorded = self.sender.store.takeRecorded()
            return self.makeTurn([]) { core in
                for (command, outcome) in recorded { core.sender.complete(command, outcome) }
            }
        }
        assert(self.home.executor.isCurrent, "the connection has moved within its turn")
        if let executor = self.home.next.take() { self.move(to: executor) }
    }

    /// Deals with what has arrived before a call that skipped the inbox: in this turn, or before it and still to be done.
    func takeArrived() {
        self.turn.hasTaken = true
        if let newer = self.inbox.takeItems(on: self.home.executor) { self.turn.arrived.append(contentsOf: newer) }
        while self.takeNext() {}
    }

    /// Deals with the first of what has arrived; false when there is nothing.
    private func takeNext() -> Bool {
        guard let item = self.turn.arrived.popFirst() else { return false }
        self.take(item)
        return true
    }

    /// Admits a job of a task to this turn, behind the present callback; false when it has no room for one more.
    ///
    /// One is enough to go on with a reply. More would let a task that is never without one keep the turn from its end.
    func admitJob() -> Bool {
        defer { self.turn.hasRoomForJob = false }
        return self.turn.hasRoomForJob
    }

    private func take(_ item: consuming ConnectionInbox.Item) {
        switch consume item {
        case .command(let command, let made):
            do throws(LinkspanError) {
                try self.sender.accept(command, hasBeenTaken: true, made: made)
            } catch {
                self.sender.queue.append(.outgoing(.finish(command, .failure(error))))
            }
        case .greeting(let command, let epoch, let made):
            self.sender.acceptGreeting(command, epoch: epoch, made: made)
        case .dropped(let command):
            self.sender.queue.append(
                .outgoing(command.fail(.bufferFull, .notSent, "was dropped to make room for newer commands")))
        case .call(let call): call()
        case .intent(let call):
            call()
            self.inbox.intentEnded()
        }
    }

    /// Carries out the outputs there are, and those that they cause.
    func carryOutOutputs() {
        while let output = self.sender.queue.outputs.popFirst() { self.carryOut(output) }
    }

    private func carryOut(_ output: CoreOutput) {
        switch output {
        case .announce(let change):
            self.turn.freesQueues = true
            self.announce(change)
        case .report(let progress): self.tell(.progress(progress))
        case .provideCredentials(let epoch, let reason):
            let now = self.now
            self.credentials.change(for: self) { $0.obtain(epoch: epoch, reason, now: now) }
        // A link is made and called on its own executor.
        case .openLink where self.home.next != nil: self.home.deferred.append(output)
        case .openLink(let attempt): self.open(attempt)
        case .endLink(let link, let closing): self.sender.queue.calling { link.end(closing) }
        case .giveBackAdmission: self.environment.attempts.giveBack()
        case .outgoing(let output): self.carryOut(output)
        case .tellOutgoing(let command): self.sender.tellOutgoing(command)
        case .introduce(let id):
            self.turn.freesQueues = true
            let handler = self.reader.incoming.observers.introduce(id)
            if let handler, let latest = self.inbox.latestChange { handler(.state(latest)) }
        case .replay(let event): self.reader.replay(event)
        case .awaitFlush(let waiter): self.awaitFlush(waiter)
        case .call(let call): call()
        }
    }

    private func carryOut(_ output: OutgoingOutput) {
        switch output {
        case .finish(let command, let outcome):
            // Its caller may look at the status at once, where what has arrived counts until it is dealt with.
            if self.turn.arrived.isEmpty { self.sender.publishLoad(&self.turn.hasTaken) }
            self.sender.finish(command, outcome)
        case .perform(let command): self.take(.command(command, made: nil))
        case .accept(let command, let key): command.accept(key)
        case .greet(let epoch): Greeter.greet(epoch: epoch, for: self)
        case .flush: self.sender.flush()
        case .pauseFlush(let number, let pause):
            _ = self.later(at: self.now + pause) { core in
                let hasLeft = core.sender.link?.link.hasPendingBytes != true
                core.sender.change { $0.resume(pause: number, hasLeft: hasLeft) }
            }
        case .callStore(let call): self.sender.store.append(call)
        case .retryStore(let session, let error):
            self.environment.logger.warning(
                "Deliveries wait: the store cannot be read",
                metadata: ["url": "\(self.destination.url)", "error": "\(error)"])
            _ = self.later(at: self.now + .seconds(5)) { $0.sender.change { $0.retryStore(session: session) } }
        }
    }

    /// Pauses or resumes reading, sets the timer, and publishes what has changed.
    private func endTurn() {
        // Outputs are not carried out any more.
        self.turn.hasRoomForJob = false
        self.reader.pauseOrResume(isConnected: self.attempts.state == .connected)
        self.reader.tellListening()
        self.setTimer()
        self.sender.publishLoad(&self.turn.hasTaken)
        for waiter in self.settlement.takeSettled(pendingWrites: self.sender.store.pendingWrites) { waiter.fulfill() }
        if self.turn.freesQueues {
            // A connection that rests should not keep the room that opening it has taken.
            self.turn.freesQueues = false
            if self.sender.queue.outputs.isEmpty { self.sender.queue.outputs = [] }
            if self.sender.outgoing.outputs.isEmpty { self.sender.outgoing.outputs = [] }
        }
        self.session.turnEnds(for: self)
    }

    private func move(to executor: any JobExecutor) {
        self.timer?.work.cancel()
        self.timer = nil
        self.home.executor = executor
        self.inbox.move(to: executor)
        // From here on the core belongs to the other executor, which goes on with what was deferred and sets the timer.
        self.reference.post { core in
            core.sender.queue.outputs.append(contentsOf: core.home.deferred)
            core.home.deferred = []
        }
    }
}

// MARK: - The timer

extension ConnectionCore {
    /// Makes sure that the timer runs for the earliest deadline.
    private func setTimer() {
        let isEarlier = self.sender.outgoing.takeEarlierDeadline()
        guard isEarlier || self.turn.hasNewDeadline else { return }
        self.turn.hasNewDeadline = false
        let first = Moment?.earliest(self.attempts.deadline, self.credentials.deadline)
        guard let wanted = Optional.earliest(first, self.sender.outgoing.deadline) else { return }
        if let timer = self.timer {
            guard wanted < timer.due else { return }
            timer.work.cancel()
        }
        let work = self.later(at: wanted) { core in
            (core.timer, core.turn.hasNewDeadline) = (nil, true)
            core.timerFired()
        }
        self.timer = CoreTimer(due: wanted, work: work)
    }

    /// Makes a turn at `instant`, unless it is cancelled.
    func later(at instant: Moment, _ body: @escaping @Sendable (ConnectionCore) -> Void) -> any ScheduledWork {
        let (reference, executor) = (self.reference, self.home.executor)
        return self.environment.scheduler.schedule(at: instant, on: executor) { reference.enter(on: executor, body) }
    }

    private func timerFired() {
        let (now, random) = (self.now, self.environment.random())
        let stage = self.sender.link?.link.openingStage
        let wasUp = self.attempts.state == .connected
        self.attempt { attempts in
            if self.sender.outgoing.hasRequests { attempts.putOffReturn(now: now) }
            if attempts.needsAdmission(now: now) { attempts.admit(at: self.environment.attempts.reserve(now: now)) }
            return attempts.timerFired(now: now, random: random, openingStage: stage)
        }
        if wasUp, self.attempts.state != .connected { self.environment.attempts.spend(now: now) }
        if let deadline = self.credentials.deadline, deadline <= now {
            let random = self.environment.random()
            self.credentials.change(for: self) { $0.timerFired(now: now, random: random) }
        }
        self.sender.change { $0.expire(now: now) { self.attempts.reasonToWait(openingStage: stage) } }
    }
}

// MARK: - Attempts

extension ConnectionCore {
    /// A deadline was set, so the timer is compared with it at the end of the turn.
    func hasNewDeadline() { self.turn.hasNewDeadline = true }

    /// Passes an input to the attempts, and carries out what they decide.
    func attempt<Failure: Error>(
        _ input: (inout Attempts) throws(Failure) -> [Attempts.Output]
    ) throws(Failure) {
        let former = self.attempts.progress
        // The attempts ask the app's retry policy.
        let outputs = try self.sender.queue.calling { () throws(Failure) in try input(&self.attempts) }
        self.epoch = self.attempts.epoch
        self.turn.hasNewDeadline = true
        for output in outputs { self.carryOut(output) }
        let progress = self.attempts.progress
        // The change to `released` is the last.
        if progress != former, self.attempts.state != .released { self.sender.queue.append(.report(progress)) }
        self.inbox.publish(self.attempts.facts)
        self.session.memory.isStale = true
    }

    private func carryOut(_ output: Attempts.Output) {
        switch output {
        case .announce(let change):
            self.sender.queue.append(.announce(change))
            self.follow(change)
        case .provideCredentials(let epoch, let reason):
            self.sender.link = nil
            self.credentials.change(for: self) { $0.stopWaiting() }
            self.sender.queue.append(.provideCredentials(epoch: epoch, reason: reason))
        case .openLink(let attempt): self.sender.queue.append(.openLink(attempt))
        case .endLink(_, let closing):
            self.credentials.change(for: self) { $0.stopWaiting() }
            guard let link = self.sender.link?.link else { return }
            self.sender.link = nil
            self.session.memory.linkEnded(politely: closing != nil)
            self.settlement.linkEnds()
            self.sender.queue.append(.endLink(link, closing))
        case .giveBackAdmission: self.sender.queue.append(.giveBackAdmission)
        case .attemptFailed(let failure): self.sender.attemptFailed(failure)
        }
    }

    private func follow(_ change: StateChange) {
        if change.from == .connected {
            self.sender.link = nil
            self.inbox.withState { $0.greeting = nil }
            self.sender.change { $0.linkLost(change.reason.error) }
        }
        switch change.to {
        case .connected:
            self.reader.linkOpened()
            let greeted = self.destination.options.greeting == nil ? nil : self.epoch
            self.sender.change { $0.linkOpened(greetedAs: greeted) }
        case .disconnected:
            guard case .failed(let error) = change.reason else { return }
            if error.code == .credentialsRefused { self.credentials.state.refused() }
            self.sender.change { $0.givenUp(error) }
        case .released:
            // A link holds the connection that it tells of its events.
            self.session.memory.follow(nil)
            self.sender.change { $0.end(nil) }
        case .reconnecting: self.sender.change { $0.reopened() }
        case .created: ()
        }
    }

    private func announce(_ change: StateChange) {
        self.environment.logger.debug(
            "Connection changed state",
            metadata: [
                "url": "\(self.destination.url)", "from": "\(change.from)",
                "to": "\(change.to)", "error": "\(change.reason.error.map(\.description) ?? "none")",
            ])
        if change.to == .connected {
            self.meter.begin(self)
            let (now, random) = (self.now, self.environment.random())
            self.credentials.change(for: self) { $0.linkOpened(now: now, random: random) }
        } else if change.from == .connected {
            self.credentials.change(for: self) { $0.linkEnded() }
        }
        // Who hears that the link is up may send at once as much as an open link takes.
        self.sender.publishFlow()
        self.probe?.changed(change)
        self.inbox.note(change)
        if let mark = change.continuity { self.reader.incoming.router.route(mark) }
        self.tell(.state(change))
        guard change.to == .released else { return }
        self.reader.incoming.finish()
        // Kept until after the access: listeners may hold anything.
        withExtendedLifetime(self.sender.listeners.removeAll()) {}
    }

    private func tell(_ change: StatusChange) {
        // One that is called may cancel another.
        for id in self.reader.incoming.observers.ids { self.reader.incoming.observers.handler(of: id)?(change) }
    }

    private func open(_ attempt: PendingAttempt) {
        guard !self.session.memory.mustWait(attempt) else {
            // It goes on without the store's answer when that takes too long.
            _ = self.later(at: self.now + StoredSessions.patience) { $0.followFormerSession(nil) }
            return
        }
        // Overtaken by a move: this place is no longer meant.
        guard self.epoch == attempt.epoch else { return }
        self.probe?.attempting(attempt.number)
        // The link may be given up before the end of the turn publishes it.
        self.session.publish(for: self)
        let request = LinkRequest(
            url: attempt.credentials.url ?? self.attempts.target.endpoints?.url ?? self.destination.url,
            credentials: attempt.credentials, deadline: self.destination.options.openDeadline,
            resumption: self.session.memory.published, identity: self.destination.identity)
        if self.attempts.target.moves(to: request.url) {
            self.probe?.moved(to: ObservedConnection(self.id, at: request.url, self.destination))
        }
        let adapter = LinkAdapter(
            core: self.reference, epoch: attempt.epoch, executor: self.home.executor,
            scheduler: self.environment.scheduler)
        let link = self.destination.transport.makeLink(request, receiver: adapter)
        self.sender.link = CurrentLink(link, epoch: attempt.epoch)
        self.session.memory.follow(link)
        self.sender.queue.calling { link.open() }
        if self.sender.outgoing.savesData { self.sender.saveData(true) }
    }
}

// MARK: - Calls

extension ConnectionCore {
    /// Makes a call of the app; an attempt that it asks for needs no admission.
    func apply(
        _ call: (inout Attempts, Moment) throws(LinkspanError) -> [Attempts.Output]
    ) throws(LinkspanError) {
        let (now, former) = (self.now, self.epoch)
        try self.attempt { attempts throws(LinkspanError) in try call(&attempts, now) }
        if let epoch = self.epoch, epoch != former { self.environment.attempts.spend(now: now) }
    }

    /// Fails every command, closes the link, and releases the connection: because of an error, or because the app has
    /// let go of it.
    func end(_ error: LinkspanError?) {
        guard self.attempts.state != .released else { return }
        let now = self.now
        if let error {
            // Before the account is closed.
            self.session.forget(for: self)
            self.sender.change { $0.end(error) }
        }
        self.attempt { $0.retire(error.map { .failed($0) } ?? .unoccupied, now: now) }
        try? self.apply { attempts, now throws(LinkspanError) in try attempts.release(now: now) }
    }

    func move(to next: Destination) {
        let (now, former) = (self.now, self.destination.identity)
        if former != next.identity {
            // Nothing that one user asked for is sent as another, and nothing that one was sent is shown to another.
            self.sender.change { $0.failAll(.moved, "failed: the connection moved to another identity") }
            self.reader.incoming.router.dropHeld()
        }
        self.credentials.move(to: next, for: self)
        self.session.memory.follow(nil)
        // Before the account changes: an outbox records the one under the other.
        self.session.publish(nil, for: self)
        self.session.memory.forgetFormer()
        self.adopt(next)
        if former != next.identity {
            self.session.memory.reopen(isSameAccount: former.source.account == next.source.account)
            self.sender.change { $0.openStore(account: next.source.account) }
        }
        self.probe?.moved(to: ObservedConnection(self.id, at: next.url, next))
        self.attempt { $0.move(LinkspanError(.moved, "the connection moves to another endpoint"), now: now) }
        self.environment.attempts.spend(now: now)
        let executor = next.transport.executor
        self.home.next = executor === self.home.executor ? nil : executor
    }

    /// Follows other options from now on.
    func adopt(_ next: Destination) {
        self.attempts.adopt(
            AttemptRules(next, spacing: self.environment.attempts.spacing),
            endpoints: next.rotation(self.environment.random))
        self.sender.outgoing.sharedOptions = next.configuration.sharedOptions
        self.sender.destination = next
        self.reader.incoming.slowListeners.limit = next.options.slowListener
        self.inbox.adopt(next)
        // The endpoint in use may have another place in the list.
        self.turn.hasNewDeadline = true
        self.inbox.publish(self.attempts.facts)
        self.meter.begin(self)
    }

    /// Answers when commands have their outcomes, and what the link was given has left.
    func awaitOutcomes(of ids: Set<Command.ID>, _ waiter: Promise<Void>) {
        let alive = ids.intersection(self.sender.outgoing.listed.map(\.id))
        if alive.isEmpty { self.awaitFlush(waiter) } else { self.sender.drains.add(waiter, ids: alive) }
    }

    /// Answers when what the link was given has left; links tell when they have room, which is sooner.
    private func awaitFlush(_ waiter: Promise<Void>) {
        guard waiter.fulfilled == nil, self.sender.link?.link.hasPendingBytes == true else { return waiter.fulfill() }
        _ = self.later(at: self.now + .milliseconds(2)) { $0.awaitFlush(waiter) }
    }

    /// Answers when no link is left that was told to end, and the store has committed what it was given.
    func awaitSettlement(_ waiter: Promise<Void>) { self.settlement.add(waiter) }
}

// MARK: - News of the link

extension ConnectionCore {
    /// Takes events of a link; see ``LinkReader/receive(epoch:at:_:for:)``.
    func receive(epoch: UInt64, at start: Moment, _ next: () -> LinkEvent?) {
        self.reader.receive(epoch: epoch, at: start, next, for: self)
        self.session.memory.isStale = true
    }

    /// The link brings an event.
    ///
    /// Before listeners are called: they may read the session that they can resume. A link that has had nothing to resume
    /// from is asked once a read.
    func linkHasRead(isFirst: Bool) {
        if isFirst || self.session.memory.published != nil { self.session.publish(for: self) }
    }

    func linkOpened(_ info: LinkInfo, epoch: UInt64) {
        if self.attempts.refusesNext {
            self.attempts.refusesNext = false
            return self.giveUpLink(
                LinkspanError(.credentialsRefused, "the inspector refused the credentials once"), nil)
        }
        let now = self.now
        self.attempt { $0.linkOpened(epoch: epoch, info, now: now) }
    }

    func linkClosed(_ error: LinkspanError, epoch: UInt64) {
        let cause = self.credentials.state.concealed(in: error)
        let (now, random) = (self.now, self.environment.random())
        let hasSpoken = self.sender.link?.hasServerSpoken == true
        self.attempt { $0.linkClosed(epoch: epoch, cause, hasSpoken: hasSpoken, now: now, random: random) }
    }

    /// Gives the link up that is opening or open.
    func giveUpLink(_ error: LinkspanError, _ closing: LinkClosing?) {
        guard let epoch = self.epoch else { return }
        let (now, random) = (self.now, self.environment.random())
        let hasSpoken = self.sender.link?.hasServerSpoken == true
        self.attempt {
            $0.linkGivenUp(epoch: epoch, error, closing, hasSpoken: hasSpoken, now: now, random: random)
        }
    }

    /// A link that was told to end has ended.
    func formerLinkEnded() { self.settlement.linkEnded() }
}

// MARK: - The store

extension ConnectionCore {
    /// Passes the calls of a turn to the store's executor in one job, so that it can commit them together.
    private func callStore() {
        guard let store = self.destination.options.store else { return }
        let (calls, reference) = (self.sender.store.takeCalls(), self.reference)
        store.executor.execute {
            for call in calls { call.make(on: store) { answer in reference.post { $0.storeAnswered(answer) } } }
        }
    }

    private func storeAnswered(_ answer: StoreAnswer) {
        switch answer {
        case .session(let session, let result):
            if self.sender.outgoing.deliveries?.ledger.session == session {
                self.followFormerSession(try? result.get())
            }
        case .kept, .ended: self.sender.store.wrote()
        case .opened, .loaded, .found: ()
        }
        let now = self.now
        self.sender.change { $0.storeAnswered(answer, now: now) }
    }

    /// The last session of the account is known; one that cannot be read is as good as none.
    private func followFormerSession(_ former: StoredSession?) {
        if former != nil {
            self.attempts.followsFormerSession()
            self.reader.incoming.router.followsFormerSession()
        }
        if let attempt = self.session.memory.storeAnswered(former) { self.sender.queue.append(.openLink(attempt)) }
        self.session.memory.isStale = true
    }
}

extension ObservedConnection {
    /// A connection at an endpoint.
    fileprivate init(_ id: UInt64, at url: ConnectionURL, _ destination: Destination) {
        self.init(
            id: id, endpoint: url.description, transport: destination.transport.name,
            hasStore: destination.options.store != nil)
    }
}

// Not a tuple, which would be copied in each turn by way of descriptions that are read at run time (W2).
private struct CoreTimer {
    let due: Moment
    let work: any ScheduledWork
}
