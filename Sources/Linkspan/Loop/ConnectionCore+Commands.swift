internal import DequeModule
internal import LinkspanRuntime
internal import Logging

// MARK: - Commands come

extension ConnectionCore {
    /// Takes a command of a callback: sends it now or lets it wait.
    ///
    /// - Throws: `released`, `bufferFull`.
    func accept(_ command: consuming Command) throws(LinkspanError) {
        if self.commands.passes(command), self.pass(command) { return }
        try self.accept(command, hasBeenTaken: false) { self.now }
    }

    /// Takes commands of a callback that belong together, if there is room for all.
    ///
    /// - Throws: `released`, `bufferFull`, `disconnected`.
    func accept(_ batch: [Command]) throws(LinkspanError) {
        guard self.commands.isOpen || self.commands.buffer.hasRoom(for: batch, within: self.commands.options.buffer)
        else {
            throw LinkspanError(
                .bufferFull,
                "a batch of \(batch.count) was refused: \(self.commands.buffer.count) commands are waiting",
                certainty: .notSent)
        }
        for command in batch { try self.acceptArrived(command, made: nil) }
    }

    /// Takes a command that was taken at the inbox, where there was room for it.
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - made: when it was performed; nil for now.
    /// - Throws: `released`.
    func acceptArrived(_ command: consuming Command, made: Moment?) throws(LinkspanError) {
        if self.commands.passes(command), self.pass(command) { return }
        try self.accept(command, hasBeenTaken: true) { made ?? self.now }
    }

    private func accept(
        _ command: consuming Command, hasBeenTaken: Bool, made: () -> Moment
    ) throws(LinkspanError) {
        let outgoing = try self.commands.accept(
            command, hasBeenTaken: hasBeenTaken, made: made, effects: &self.effects)
        if let outgoing { self.hand(consume outgoing) }
    }

    /// Gives a command to the link as it is; false when the link did not take it, and it goes the usual way.
    private func pass(_ command: borrowing Command) -> Bool {
        guard self.probe == nil, self.chain == nil else { return false }
        self.isCallingLink = true
        defer { self.isCallingLink = false }
        switch self.ownedLink {
        case .some(let owned):
            switch owned.link.send(command.message) {
            case .accepted: ()
            case .acceptedAndFull: self.commands.linkIsFull()
            case .refused, .rejected: return false
            }
        case nil: return false
        }
        if !self.outgoingListeners.isEmpty || !self.drains.isEmpty {
            self.sent(CommandStateMachine.Outgoing(command: copy command, requestID: nil, delivery: nil))
        }
        return true
    }

    func acceptGreeting(_ command: Command, epoch: UInt64, made: Moment) {
        let outgoing = self.commands.acceptGreeting(command, epoch: epoch, made: made, effects: &self.effects)
        if let outgoing { self.hand(outgoing) }
    }

    /// Ends a command for which there was no room on its way here.
    func drop(_ command: Command) {
        self.effects.append(command.fail(.bufferFull, .notSent, "was dropped to make room for newer commands"))
    }

    func cancel(_ ids: Set<Command.ID>) { self.commands.cancel(ids, effects: &self.effects) }
}

// MARK: - Commands leave

extension ConnectionCore {
    /// Gives a command to the link.
    private func hand(_ outgoing: consuming CommandStateMachine.Outgoing) {
        guard let link = self.link else {
            return self.commands.takeBack(outgoing, now: self.now, effects: &self.effects)
        }
        let acceptance: SendAcceptance
        if let chain = self.chain {
            switch self.intercept(outgoing, chain) {
            case .success(let message):
                acceptance = self.calling {
                    self.tellLeaving(outgoing)
                    return link.send(message)
                }
            case .failure(let error): acceptance = .rejected(error)
            }
        } else {
            acceptance = self.calling {
                self.tellLeaving(outgoing)
                return if let message = outgoing.delivery { link.send(message) } else {
                    link.send(outgoing.command.message)
                }
            }
        }
        switch acceptance {
        case .accepted, .acceptedAndFull:
            if acceptance == .acceptedAndFull { self.commands.linkIsFull() }
            self.sent(outgoing)
            self.commands.linkTook(consume outgoing)
        case .refused:
            self.commands.takeBack(outgoing, now: self.now, effects: &self.effects)
        case .rejected(let error):
            if outgoing.command.isSend, outgoing.command.completion == nil { self.warn(of: outgoing.command, error) }
            self.commands.reject(outgoing, error, effects: &self.effects)
        }
    }

    /// Nobody waits for the outcome of a send without a completion, so that the log alone can tell.
    private func warn(of command: borrowing Command, _ error: LinkspanError) {
        let (url, event) = (self.destination.url, command.event)
        self.environment.logger.warning(
            "A message was not sent", metadata: ["url": "\(url)", "event": "\(event)", "error": "\(error)"])
    }

    private func tellLeaving(_ outgoing: borrowing CommandStateMachine.Outgoing) {
        guard let probe = self.probe, !self.isMeasurement(outgoing.command.id) else { return }
        probe.leaving(outgoing.command)
    }

    private func sent(_ outgoing: borrowing CommandStateMachine.Outgoing) {
        // Before the command is looked at, which copies it: a request that nobody watches ends with its reply.
        let isWatched = self.probe != nil || !self.outgoingListeners.isEmpty
        guard isWatched || outgoing.requestID == nil else { return }
        if !self.isMeasurement(outgoing.command.id) { self.probe?.sent(outgoing.command) }
        if !self.outgoingListeners.isEmpty { self.effects.append(.tellOutgoing(outgoing.command)) }
        guard outgoing.command.isSend else { return }
        if outgoing.command.completion != nil || self.probe != nil || !self.drains.isEmpty {
            self.effects.append(.finish(outgoing.command, .success(.empty)))
        }
    }

    /// Sends what waits until nothing is left, the link is full, or the turn of the flush is used up.
    func flush() {
        let now = self.now
        while let outgoing = self.commands.nextToFlush(now: now, effects: &self.effects) { self.hand(outgoing) }
    }

    func pauseFlush(_ number: UInt64, _ pause: Duration) {
        _ = self.later(at: self.now + pause) { core in
            let hasLeft = core.link?.hasPendingBytes != true
            core.commands.resume(pause: number, hasLeft: hasLeft, effects: &core.effects)
        }
    }
}

// MARK: - Outcomes

extension ConnectionCore {
    func reply(_ id: UInt64, _ payload: Payload) {
        var payload = payload
        if let chain = self.chain, let event = self.commands.awaited[id]?.event {
            switch self.intercept(replyFor: event, payload, chain) {
            case .success(let intercepted): payload = intercepted
            case .failure(let error):
                if let command = self.commands.takeAwaited(id, effects: &self.effects) {
                    self.finish(command, .failure(error))
                }
                return
            }
        }
        payload = payload.detached()
        let policy = self.commands.policy(forReplyTo: id)
        let verdict = self.calling { policy?.verdict(of: payload) }
        guard let outcome = self.commands.outcome(ofReply: payload, verdict, to: id, effects: &self.effects) else {
            return
        }
        guard let command = self.commands.takeAwaited(id, effects: &self.effects) else {
            return self.inbox.withState { $0.lateReplies = self.commands.lateReplies }
        }
        self.finish(command, outcome)
    }

    /// Gives a command its outcome.
    func finish(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
        if let call = self.commands.ended(command, outcome, effects: &self.effects) { self.tellStore(call) }
        if command.isOfDelivery, self.hasStoreCalls {
            self.recorded.append((command, outcome))
        } else {
            self.complete(command, outcome)
        }
    }

    /// Completes the deliveries whose outcomes the store was told, so that what the app asks of it then comes behind that.
    func completeRecorded() {
        let recorded = self.recorded
        self.recorded = []
        self.makeTurn([]) { core in for (command, outcome) in recorded { core.complete(command, outcome) } }
    }

    private func complete(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
        if !self.isMeasurement(command.id) { self.probe?.finished(command, outcome) }
        command.finish(outcome)
        for waiter in self.drains.ended(command.id) { self.awaitFlush(waiter) }
    }

    /// Answers when commands have their outcomes, and what the link was given has left.
    func awaitOutcomes(of ids: Set<Command.ID>, _ waiter: Promise<Void>) {
        let alive = ids.intersection(self.commands.listed.map(\.id))
        if alive.isEmpty { self.awaitFlush(waiter) } else { self.drains.add(waiter, ids: alive) }
    }

    /// Answers when what the link was given has left; links tell when they have room, which is sooner.
    private func awaitFlush(_ waiter: Promise<Void>) {
        guard waiter.fulfilled == nil, self.link?.hasPendingBytes == true else { return waiter.fulfill() }
        _ = self.later(at: self.now + .milliseconds(2)) { $0.awaitFlush(waiter) }
    }
}

// MARK: - Greeting

extension ConnectionCore {
    func greet(epoch: UInt64) {
        // A listener that heard of the link before may have ended it.
        guard let greeting = self.destination.options.greeting, self.commands.isGreeting(epoch) else { return }
        let (inbox, reference, scheduler) = (self.inbox, self.reference, self.environment.scheduler)
        let deadline = self.later(at: self.now + greeting.deadline) { core in
            core.greetingFailed(
                epoch: epoch, LinkspanError(.timedOut, "the greeting '\(greeting.name)' took too long"))
        }
        inbox.withState { $0.greeting = epoch }
        let channel = GreetingChannel(
            perform: { command throws(LinkspanError) in
                try inbox.submit(greeting: command, epoch: epoch, made: scheduler.moment, to: reference)
            },
            cancel: { id in inbox.post({ $0.cancel([id]) }, to: reference) })
        // No parent can own this task: links open in callbacks. It is cancelled when its link ends.
        self.greetingTask = Task {
            do {
                try await greeting.body(channel)
                inbox.post({ $0.greeted(epoch: epoch) }, to: reference)
            } catch {
                let failure = LinkspanError(greeting: greeting.name, failedWith: error)
                inbox.post({ $0.greetingFailed(epoch: epoch, failure) }, to: reference)
            }
            deadline.cancel()
        }
    }

    private func greeted(epoch: UInt64) {
        guard self.commands.isGreeting(epoch) else { return }
        self.inbox.withState { $0.greeting = nil }
        self.commands.greeted(epoch: epoch, effects: &self.effects)
    }

    private func greetingFailed(epoch: UInt64, _ error: LinkspanError) {
        guard self.commands.isGreeting(epoch) else { return }
        let (now, random) = (self.now, self.environment.random())
        self.run { $0.linkGivenUp(epoch: epoch, error, now: now, random: random) }
    }
}

extension LinkspanError {
    /// An error of the greeting as the end of its link.
    fileprivate init(greeting name: String, failedWith error: any Error) {
        if let error = error as? LinkspanError, error.certainty == nil {
            self = error
        } else {
            self.init(.greetingFailed, "the greeting '\(name)' failed", cause: error)
        }
    }
}
