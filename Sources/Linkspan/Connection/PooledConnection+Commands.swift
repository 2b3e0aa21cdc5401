internal import DequeModule
internal import LinkspanRuntime

extension PooledConnection {
    func perform(_ command: Command) throws(LinkspanError) {
        guard case .deliver = command.kind, let prefix = self.keyPrefix else {
            return try self.take(command) { machine, effects throws(LinkspanError) in
                try machine.accept(command, now: { self.now }, effects: &effects)
            }
        }
        var named = command
        let key = command.key ?? "\(prefix).\(command.id.number)"
        named.key = key
        try self.store.map { store throws(LinkspanError) in try store.keep(named, key: key) }
        do throws(LinkspanError) {
            try self.take(named) { machine, effects throws(LinkspanError) in
                try machine.accept(named, now: { self.now }, effects: &effects)
            }
        } catch {
            self.store?.forget(key: key)
            throw error
        }
    }

    private func take(
        _ command: Command,
        _ accept: (inout CommandStateMachine, inout Deque<Effect>) throws(LinkspanError) ->
            CommandStateMachine.Acceptance
    ) throws(LinkspanError) {
        let (acceptance, mustDrain) = try self.core.withLock {
            core throws(LinkspanError) -> (CommandStateMachine.Acceptance, Bool) in
            var acceptance = try core.command(accept)
            if core.isWatched { acceptance = core.watch(acceptance, at: self.scheduler) }
            if command.timeout != nil || command.kind.isRepeated { core.rearm() }
            return (acceptance, core.beginDraining())
        }
        if case .sendNow(let link, let outgoing, let writables) = acceptance {
            self.environment.probe?.leaving(outgoing.command)
            self.conclude(outgoing, link, link.send(outgoing.message), writables: writables)
        } else {
            self.tellQueue()
        }
        if mustDrain { self.drain() }
    }

    var commands: [CommandStatus] { self.core.withLock { $0.commands.statuses } }

    func cancel(_ id: Command.ID) { _ = self.cancel([id]) }

    @discardableResult
    func cancelCommands(where isMeant: (CommandStatus) -> Bool) -> Int {
        // Asked outside the lock; what has its outcome meanwhile keeps it.
        self.cancel(Set(self.commands.filter(isMeant).map(\.id)))
    }

    private func cancel(_ ids: Set<Command.ID>) -> Int {
        var count = 0
        self.update { core in count = core.command { $0.cancel(ids, effects: &$1) } }
        return count
    }

    /// Sends turn after turn, until nothing is left, the link is full, or the next has to wait.
    func flush() {
        while let (turn, isHeard) = self.core.withLock({ $0.nextTurn(at: self.scheduler) }) {
            self.send(turn, isHeard: isHeard)
            let pause = self.core.withLock { core in
                core.command { machine, _ in machine.turnEnded(isFull: turn.isFull) }
            }
            if let pause { return self.resumeFlush(after: pause) }
        }
    }

    private func send(_ turn: CommandStateMachine.Turn, isHeard: Bool) {
        for (index, outgoing) in turn.batch.enumerated() {
            let acceptance = self.hand(outgoing, to: turn.link, isHeard: isHeard)
            self.conclude(outgoing, turn.link, acceptance, writables: turn.writables)
            switch acceptance {
            case .accepted, .rejected: continue
            case .acceptedAndFull, .refused: ()
            }
            for outgoing in turn.batch[(index + 1)...] {
                self.takeBack(outgoing, refusedBy: nil, writables: turn.writables)
            }
            return
        }
    }

    private func resumeFlush(after pause: UInt64) {
        _ = self.environment.scheduler.schedule(at: self.now + self.destination.options.flush.pause) { [weak self] in
            self?.update { core in core.command { $0.resume(pause: pause, effects: &$1) } }
        }
    }

    func conclude(
        _ outgoing: CommandStateMachine.Outgoing, _ link: any Link, _ acceptance: SendAcceptance, writables: UInt64
    ) {
        switch acceptance {
        case .accepted:
            ()
        case .acceptedAndFull:
            self.core.withLock { core in
                core.command { machine, _ in machine.linkIsFull(link, writables: writables) }
            }
        case .refused:
            self.traceRefused(outgoing)
            return self.takeBack(outgoing, refusedBy: link, writables: writables)
        case .rejected(let error):
            self.traceRefused(outgoing)
            return self.update { core in core.command { $0.reject(outgoing, error, effects: &$1) } }
        }
        self.environment.probe?.sent(outgoing.command)
        if outgoing.command.kind == .send { self.finish(outgoing.command, .success(.empty)) }
    }

    func takeBack(
        _ outgoing: CommandStateMachine.Outgoing, refusedBy refuser: (any Link)?, writables: UInt64
    ) {
        let now = self.now
        self.update { core in
            core.command {
                $0.takeBack(outgoing, refusedBy: refuser, writables: writables, now: now, effects: &$1)
            }
        }
    }

    func reply(_ id: UInt64, _ payload: Payload) {
        let (command, mustDrain) = self.core.withLock { core in
            (core.command { $0.takeAwaited(id, effects: &$1) }, core.beginDraining())
        }
        if let command { self.finish(command, .success(payload)) }
        if mustDrain { self.drain() }
    }

    func finish(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
        if case .deliver = command.kind, let store = self.store, let key = command.key {
            store.forgetUnlessReleased(key, outcome)
        }
        // A send that left at once changes no depth.
        if command.kind != .send || self.environment.probe?.hasQueue == true { self.tellQueue() }
        self.environment.probe?.finished(command, outcome)
        command.finish(outcome)
        for waiter in self.drains.withLock({ $0.ended(command.id) }) { waiter.fulfill() }
    }

    private func tellQueue() {
        guard let probe = self.environment.probe else { return }
        probe.queueChanged(depth: self.waitingCommands, limit: self.destination.options.buffer.commands)
    }

    func awaitOutcomes(of ids: Set<Command.ID>, within limit: Duration) async {
        let waiter = Promise<Void>()
        let number = self.drains.withLock { $0.add(waiter, ids: ids) }
        let alive = Set(self.commands.map(\.id))
        if self.drains.withLock({ $0.keep(alive, of: number) }) {
            let timer = self.environment.scheduler.schedule(at: self.now + limit) { waiter.fulfill() }
            await waiter.value
            timer.cancel()
        }
        self.drains.withLock { $0.remove(number) }
    }
}

// MARK: - Greeting

extension PooledConnection {
    func greet(epoch: UInt64) {
        guard let greeting = self.greeting else { return }
        let deadline = self.environment.scheduler.schedule(at: self.now + greeting.deadline) { [weak self] in
            self?.greetingFailed(
                epoch: epoch, LinkspanError(.timedOut, "the greeting '\(greeting.name)' took too long"))
        }
        let channel = GreetingChannel(
            perform: { [weak self] command throws(LinkspanError) in try self?.performGreeting(command, epoch: epoch) },
            cancel: { [weak self] in self?.cancel($0) })
        // No parent can own this task: links open in callbacks. It is cancelled when its link ends.
        let task = Task { [weak self] in
            do {
                try await greeting.body(channel)
                self?.greeted(epoch: epoch)
            } catch {
                self?.greetingFailed(epoch: epoch, LinkspanError(greeting: greeting.name, failedWith: error))
            }
            deadline.cancel()
        }
        if !self.core.withLock({ $0.keep(greeting: task, epoch: epoch) }) { task.cancel() }
    }

    private func performGreeting(_ command: Command, epoch: UInt64) throws(LinkspanError) {
        try self.take(command) { machine, _ throws(LinkspanError) in
            try machine.acceptGreeting(command, epoch: epoch, now: { self.now })
        }
    }

    private func greeted(epoch: UInt64) {
        self.update { core in core.command { $0.greeted(epoch: epoch, effects: &$1) } }
    }

    private func greetingFailed(epoch: UInt64, _ error: LinkspanError) {
        let random = self.environment.random()
        let now = self.now
        self.update { core in
            guard core.commands.isGreeting(epoch) else { return }
            core.run { $0.linkGivenUp(epoch: epoch, error, now: now, random: random) }
        }
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

extension DeliveryStore {
    fileprivate func keep(_ command: Command, key: String) throws(LinkspanError) {
        guard case .deliver(let lane) = command.kind else { return }
        do {
            try self.keep(StoredDelivery(key: key, lane: lane, event: command.event, payload: command.payload))
        } catch {
            throw LinkspanError(.notKept, "'\(command.event)' could not be stored", cause: error, certainty: .notSent)
        }
    }

    /// What was released has not had its outcome for good: the next process goes on with it.
    fileprivate func forgetUnlessReleased(_ key: String, _ outcome: Result<Payload, LinkspanError>) {
        if case .failure(let error) = outcome, error.code == .released { return }
        self.forget(key: key)
    }
}

extension Command.Kind {
    /// Whether a command of this kind is sent again when it is not answered.
    fileprivate var isRepeated: Bool { if case .deliver = self { true } else { false } }
}
