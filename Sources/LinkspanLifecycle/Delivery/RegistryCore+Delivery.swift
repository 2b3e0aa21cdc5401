internal import LinkspanRuntime

/// The families of barriers that the present code is being called for.
enum BarrierContext {
    @TaskLocal static var families: Set<FamilyID> = []
}

// MARK: - Emitting

extension RegistryCore {
    @discardableResult
    @usableFromInline
    func emit<Event: LifecycleEvent>(_ event: @autoclosure () -> Event, cause: UInt64? = nil) -> UInt64? {
        let traits = FamilyTraits(Event.self)
        if traits.delivery == .batches {
            return self.emit(event(), cause: cause, by: self.collector(of: Event.self, traits))
        }
        switch self.fanout({ $0.audience(of: traits) }) {
        case .nobody: return nil
        case .elsewhere(let home): return home.emit(event(), cause: cause)
        case .somebody: return self.post(Posting(event()), cause: cause)
        }
    }

    /// Collects an event for a moment, so that its emitter does not wait for the handing over.
    @inlinable
    func emit<Event: LifecycleEvent>(
        _ event: @autoclosure () -> Event, cause: UInt64?, by collector: EventCollector<Event>
    ) -> UInt64? {
        switch collector.audience {
        case .nobody: return nil
        case .elsewhere: return self.home.emit(event(), cause: cause)
        case .somebody: ()
        }
        guard self.delays || self.isSummed(Event.self) else { return self.post(event(), cause: cause) }
        let now = self.now
        let duty = collector.add(event(), time: now, cause: cause)
        if duty != .wait { self.attend(to: duty, now: now) }
        return nil
    }

    /// Whether a family's events may be added up: posted one by one, they would be lost instead.
    @usableFromInline
    func isSummed<Event: LifecycleEvent>(_ type: Event.Type) -> Bool { type.family.tally != nil }

    /// Whether collected events wait for a moment.
    @usableFromInline var delays: Bool { self.options.batchDelay > .zero }

    @usableFromInline var now: ContinuousClock.Instant { self.scheduler.now }

    /// Sees to it that collected events are taken.
    @usableFromInline
    func attend(to duty: CollectorDuty, now: ContinuousClock.Instant) {
        guard duty == .schedule, self.delays else { return self.handOver() }
        _ = self.scheduler.schedule(at: now.advanced(by: self.options.batchDelay)) { [weak self] in self?.handOver() }
    }

    /// Posts an event by itself.
    @usableFromInline
    func post<Event: LifecycleEvent>(_ event: Event, cause: UInt64?) -> UInt64 {
        self.post(Posting(event), cause: cause)
    }

    @usableFromInline
    func hasAudience<Event: LifecycleEvent>(for type: Event.Type) -> Bool {
        let traits = FamilyTraits(type)
        if traits.delivery == .batches { return self.hasAudience(self.collector(of: type, traits)) }
        return switch self.fanout({ $0.audience(of: traits) }) {
        case .nobody: false
        case .somebody: true
        case .elsewhere(let home): home.hasAudience(for: type)
        }
    }

    @inlinable
    func hasAudience<Event: LifecycleEvent>(_ collector: EventCollector<Event>) -> Bool {
        switch collector.audience {
        case .nobody: false
        case .somebody: true
        case .elsewhere: self.home.hasAudience(for: Event.self)
        }
    }

    /// The collector of a family that is handed over in batches.
    func collector<Event: LifecycleEvent>(of type: Event.Type, _ traits: FamilyTraits) -> EventCollector<Event> {
        let known = self.fanout { $0.collector(of: traits.family) }
        if let collector = known as? EventCollector<Event> { return collector }
        let new = EventCollector<Event>()
        return self.fanout { $0.collector(traits, orAdd: new) } as? EventCollector<Event> ?? new
    }

    func post(
        _ posting: Posting, cause: UInt64?, receipts: ((ServiceID, UInt64) -> Mailbox.Receipt)? = nil
    ) -> UInt64 {
        let now = self.scheduler.now
        var effects = Fanout.Effects()
        let seq = self.fanout { fanout in
            fanout.post(posting, now: now, cause: cause, effects: &effects, receipts: receipts)
        }
        self.carryOut(effects)
        return seq
    }

    /// Gives receivers the events that were collected.
    ///
    /// Also called before receivers come and go, so that each gets what happened in its time.
    func handOver() {
        var effects = Fanout.Effects()
        self.fanout { $0.handOver(&effects) }
        self.carryOut(effects)
    }

    private func carryOut(_ effects: Fanout.Effects) {
        for receipt in effects.dropped {
            receipt(.lost)
        }
        for id in effects.wake {
            self.beginConsumer(id)
        }
        for mailbox in effects.overflowing {
            self.fault(
                mailbox.path, .mailboxOverflow, "more than \(mailbox.capacity) events wait; the oldest are dropped",
                hint: "budgets.mailbox is \(mailbox.capacity)")
        }
    }
}

// MARK: - Consuming

extension RegistryCore {
    /// Gives a receiver the events that waited for it.
    func open(_ id: ServiceID) {
        self.handOver()
        if self.fanout({ $0.open(id) }) {
            self.beginConsumer(id)
        }
    }

    /// Takes a receiver's mailbox away.
    @discardableResult
    func close(_ id: ServiceID) -> Fanout.Removed {
        self.handOver()
        let removed = self.fanout { $0.remove(id) }
        for receipt in removed.receipts {
            receipt(.lost)
        }
        return removed
    }

    /// Begins to hand out what waits for a receiver, if anything does and nobody hands it out yet.
    func beginConsumer(_ id: ServiceID) {
        guard let (generation, urgency, watch) = self.fanout({ $0.beginConsumer(id) }) else { return }
        let task = self.threads(for: urgency).begin { await self.consume(id, generation) }
        self.fanout { $0.setTask(task, id, generation: generation) }
        if let watch {
            self.watch(id, at: self.later(watch))
        }
    }

    /// Hands out letters one after the other until there is none.
    private func consume(_ id: ServiceID, _ generation: UInt64) async {
        while true {
            switch self.fanout({ $0.take(id, generation: generation) }) {
            case .handle(let call, let path, let receiver):
                let scope = self.scope(id, path, call)
                while let next = call.next(now: self.scheduler.now) {
                    switch next {
                    case .letter(let letter):
                        await self.handle(letter, scope.caused(by: letter.stamped.seq), receiver)
                    case .run(let run):
                        let isThere = await run.contents.deliver(to: receiver, scope, call) { error, seq in
                            self.handlerFailed(path, error, run.family, cause: seq)
                        }
                        if !isThere { self.close(id) }
                    }
                }
            case .renew: return self.beginConsumer(id)
            case .end(let waiters):
                for waiter in waiters {
                    waiter()
                }
                return
            }
        }
    }

    private func handle(_ letter: Mailbox.Letter, _ scope: ServiceScope, _ receiver: any EventReceiver) async {
        let family = letter.stamped.event.familyID
        do {
            let isThere: Bool
            if letter.receipt == nil {
                isThere = try await receiver.deliver(letter.stamped, scope)
            } else {
                isThere = try await BarrierContext.$families.withValue(BarrierContext.families.union([family])) {
                    try await receiver.deliver(letter.stamped, scope)
                }
            }
            letter.receipt?(isThere ? .handled : .lost)
            if !isThere {
                self.close(scope.id)
            }
        } catch {
            letter.receipt?(.failed("\(error)"))
            self.handlerFailed(scope.path, error, family, cause: letter.stamped.seq)
        }
    }

    private func handlerFailed(_ path: String, _ error: any Error, _ family: FamilyID, cause: UInt64) {
        // A fault about the handling of a fault would go round in circles.
        guard family != FaultEvent.familyID else { return }
        self.emit(FaultEvent(path: path, code: .handlerFailed, message: "handler threw: \(error)"), cause: cause)
    }

    /// Looks after a consumer, without costing anything per event.
    private func watch(_ id: ServiceID, at deadline: ContinuousClock.Instant) {
        _ = self.scheduler.schedule(at: deadline) { [weak self] in
            guard let self else { return }
            let now = self.scheduler.now
            switch self.fanout({ $0.check(id, now: now) }) {
            case .done: ()
            case .again(let next): self.watch(id, at: next)
            case .late(let path, let family, let limit, let task, let next):
                if let task {
                    self.threads.submit { task.cancel() }
                }
                if family != FaultEvent.familyID {
                    self.fault(
                        path, .limitHit, "handling an event of family \(family) takes longer than \(limit)",
                        hint: "budgets.handle is \(limit)")
                }
                self.watch(id, at: next)
            }
        }
    }
}
