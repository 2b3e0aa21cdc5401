internal import DequeModule
internal import LinkspanRuntime
internal import Logging

// MARK: - The state machine

extension ConnectionCore {
    /// Passes an input to the state machine, and carries out its actions.
    func run<Failure: Error>(
        _ event: (inout ConnectionStateMachine) throws(Failure) -> [ConnectionStateMachine.Action]
    ) throws(Failure) {
        let former = self.machine.progress
        // The machine asks the app's retry policy.
        let actions = try self.calling { () throws(Failure) in try event(&self.machine) }
        (self.epoch, self.isLeft) = (self.machine.epoch, self.machine.isLeft)
        self.machineDeadline = self.machine.deadline
        for action in actions { self.carryOut(action) }
        let progress = self.machine.progress
        // The change to `released` is the last.
        if progress != former, self.machine.state != .released { self.effects.append(.tellProgress(progress)) }
        self.inbox.publish(self.published)
        self.isResumptionStale = true
    }

    /// The state for readers on other threads.
    var published: ConnectionInbox.Published {
        ConnectionInbox.Published(
            state: self.machine.state, progress: self.machine.progress, lastError: self.machine.lastError,
            failure: self.machine.failure, refusals: self.machine.refusals, place: self.machine.place.map { Boxed($0) })
    }

    private func carryOut(_ action: ConnectionStateMachine.Action) {
        switch action {
        case .announce(let change):
            self.effects.append(.announce(change))
            self.follow(change)
        case .provideCredentials(let epoch, let reason):
            self.link = nil
            self.stopWaitingForCredentials()
            self.effects.append(.provideCredentials(epoch: epoch, reason: reason))
        case .openLink(let epoch, let attempt):
            self.effects.append(.openLink(epoch: epoch, attempt: attempt, self.attemptCredentials))
            self.attemptCredentials = Credentials()
        case .endLink(_, let politely):
            self.stopWaitingForCredentials()
            if let link = self.link.take() {
                self.isResumptionFixed = !politely
                self.endingLinks += 1
                self.effects.append(.endLink(link, politely: politely))
            }
        case .giveBackAdmission:
            self.effects.append(.giveBackAdmission)
        }
    }

    private func follow(_ change: StateChange) {
        if change.from == .connected {
            self.link = nil
            self.greetingTask?.cancel()
            self.greetingTask = nil
            self.inbox.withState { $0.greeting = nil }
            self.commands.linkLost(change.reason.error, effects: &self.effects)
        }
        switch change.to {
        case .connected:
            self.commands.linkOpened(
                greetedAs: self.destination.options.greeting == nil ? nil : self.machine.epoch, effects: &self.effects)
        case .disconnected:
            guard case .failed(let error) = change.reason else { return }
            if error.code == .credentialsRefused { self.credentials.refused() }
            self.commands.givenUp(error, effects: &self.effects)
        case .released:
            // A link holds the connection that it tells of its events.
            self.latestLink = nil
            self.commands.end(effects: &self.effects)
        case .reconnecting:
            self.commands.reopened()
        case .created:
            ()
        }
    }

    private func stopWaitingForCredentials() {
        self.credentialWait?()
        self.credentialWait = nil
    }

    func announce(_ change: StateChange) {
        self.environment.logger.debug(
            "Connection changed state",
            metadata: [
                "url": "\(self.destination.url)", "from": "\(change.from)",
                "to": "\(change.to)", "error": "\(change.reason.error.map(\.description) ?? "none")",
            ])
        if change.to == .connected {
            self.beginProbing()
            self.credentials.linkOpened(self)
        } else if change.from == .connected {
            self.credentials.linkEnded(self)
        }
        // Who hears that the link is up may send at once as much as an open link takes.
        self.publishFlow()
        self.probe?.changed(change)
        self.inbox.note(change)
        if let mark = change.continuity { self.router.route(mark) }
        self.tell(.state(change))
        if change.to == .released { self.finishListening() }
    }

    func tell(_ change: StatusChange) {
        // One that is called may cancel another.
        for id in self.observers.introduced { self.observers.handler(of: id)?(change) }
    }

    /// Gives a new observer the latest change of state.
    func introduce(_ id: UInt64) {
        if let handler = self.observers.introduce(id), let latest = self.inbox.latestChange { handler(.state(latest)) }
    }
}

// MARK: - Calls

extension ConnectionCore {
    func connect() throws(LinkspanError) {
        let now = self.now
        try self.run { machine throws(LinkspanError) in try machine.connect(now: now) }
        self.environment.attempts.spend(now: now)
    }

    func disconnect() throws(LinkspanError) {
        let now = self.now
        try self.run { machine throws(LinkspanError) in try machine.disconnect(now: now) }
    }

    func release() throws(LinkspanError) {
        let now = self.now
        try self.run { machine throws(LinkspanError) in try machine.release(now: now) }
    }

    /// Fails every command, closes the link, and releases the connection: because of an error, or because the app has
    /// let go of it.
    func end(_ error: LinkspanError?) {
        guard self.machine.state != .released else { return }
        let now = self.now
        if let error {
            // Before the account is closed.
            self.forgetSession()
            self.commands.end(error, effects: &self.effects)
        }
        self.run { $0.retire(error.map { .failed($0) } ?? .unoccupied, now: now) }
        try? self.release()
    }

    func suspend(_ reason: LinkspanError, patience: Duration?) {
        let (now, random) = (self.now, self.environment.random())
        self.run { $0.suspend(reason, patience: patience, now: now, random: random) }
    }

    func resume(within spread: Duration) {
        let (now, delay) = (self.now, spread * self.environment.random())
        self.run { $0.resume(after: delay, now: now) }
    }

    func adjust(_ options: ConnectionOptions) {
        let former = self.destination
        self.adopt(Destination(former, options: options))
    }

    func move(to next: Destination) {
        let now = self.now
        let former = self.destination.identity
        if former != next.identity {
            // Nothing that one user asked for is sent as another, and nothing that one was sent is shown to another.
            self.commands.failAll(.moved, "failed: the connection moved to another identity", effects: &self.effects)
            self.router.dropHeld()
        }
        self.credentials.linkEnded(self)
        self.credentials = ConnectionCredentials(next)
        self.latestLink = nil
        // Before the account changes: an outbox records the one under the other.
        self.publish(resumption: nil)
        self.sessions?.value.forgetFormer()
        self.adopt(next)
        if former != next.identity { self.reopenStore(former: former.source.account) }
        self.probe?.moved(to: Self.observed(self.id, next))
        self.run { $0.move(LinkspanError(.moved, "the connection moves to another endpoint"), now: now) }
        self.environment.attempts.spend(now: now)
        self.leave(for: next.transport.executor)
    }

    private func adopt(_ next: Destination) {
        let timing = ConnectionStateMachine.Timing(next.options, attemptSpacing: self.environment.attempts.spacing)
        self.machine.adopt(
            timing, next.options.retry, canRenewCredentials: next.source.isRenewable,
            endpoints: next.rotation(self.environment.random))
        self.commands.adopt(next.sharedOptions)
        self.destination = next
        self.slowListeners.limit = next.options.slowListener
        self.inbox.adopt(next)
        // The endpoint in use may have another place in the list.
        self.machineDeadline = self.machine.deadline
        self.inbox.publish(self.published)
        self.beginProbing()
    }
}

// MARK: - Attempts

extension ConnectionCore {
    func provideCredentials(epoch: UInt64, _ reason: CredentialRequest.Reason) {
        let wait = self.credentials.obtain(reason, for: self) { $0.credentialsEnded(epoch: epoch, $1) }
        if self.epoch == epoch { self.credentialWait = wait } else { wait?() }
    }

    private func credentialsEnded(epoch: UInt64, _ outcome: Result<IssuedCredentials, LinkspanError>) {
        guard self.epoch == epoch else { return }
        self.credentialWait = nil
        let now = self.now
        switch outcome {
        case .success(let issued):
            self.attemptCredentials = issued.credentials
            let isRenewed = issued.isAnswerToRefusal(at: now)
            self.run { $0.credentialsArrived(epoch: epoch, isRenewed: isRenewed, now: now) }
        case .failure(let error):
            let random = self.environment.random()
            self.run { $0.credentialsFailed(epoch: epoch, error, now: now, random: random) }
        }
    }

    /// Gives renewed credentials to the open link; false when there is none or it cannot take them.
    func push(_ credentials: Credentials) -> Bool {
        guard self.machine.state == .connected, let link = self.link else { return false }
        return self.calling { link.renewCredentials(credentials) }
    }

    func open(epoch: UInt64, _ attempt: Int, _ credentials: Credentials) {
        // Overtaken by a move: this place is no longer meant.
        guard self.epoch == epoch else { return }
        self.probe?.attempting(attempt)
        // The link may be given up before the end of the turn publishes it.
        self.publishResumption()
        let request = LinkRequest(
            url: credentials.url ?? self.machine.endpoint ?? self.destination.url, credentials: credentials,
            attempt: attempt,
            deadline: self.destination.options.openDeadline, resumption: self.publishedResumption,
            identity: self.destination.identity)
        (self.isReadingPaused, self.hasServerSpoken) = (false, false)
        self.noteEndpoint(request.url)
        let adapter = LinkAdapter(core: self, epoch: epoch)
        let link = self.destination.transport.makeLink(request, receiver: adapter)
        self.link = link
        self.latestLink = link
        self.calling { link.open() }
    }

    /// Notes the endpoint of the latest link, for sessions and for the observer.
    private func noteEndpoint(_ url: ConnectionURL) {
        defer { self.lastEndpoint = url }
        guard self.machine.endpoint != nil, url != self.lastEndpoint else { return }
        self.probe?.moved(
            to: ObservedConnection(
                id: self.id, endpoint: url.description, transport: self.destination.transport.name))
    }

    /// The text that the next link resumes from.
    var resumption: Secret? {
        if let latest = self.latestLink {
            guard !self.isLeft, let resumption = latest.resumption else { return nil }
            return self.isResumptionFixed ? self.publishedResumption : resumption
        }
        guard self.machine.state != .released else { return nil }
        return self.destination.resumption ?? self.sessions?.value.former?.resumption
    }
}

// MARK: - The end of links

extension ConnectionCore {
    /// A link that was told to end has ended.
    func formerLinkEnded() {
        self.endingLinks = max(0, self.endingLinks - 1)
        self.settleIfQuiet()
    }

    /// Answers those who wait for that, once nothing is left to end.
    func settleIfQuiet() {
        guard self.isQuiet else { return }
        for waiter in self.farewells { waiter.fulfill() }
        self.farewells = []
    }

    /// Answers when no link is left that was told to end, and the store has committed what it was given.
    func awaitFarewell(_ waiter: Promise<Void>) {
        guard !self.isQuiet else { return waiter.fulfill() }
        self.farewells.append(waiter)
    }
}
