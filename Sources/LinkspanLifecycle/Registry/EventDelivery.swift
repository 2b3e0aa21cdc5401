internal import LinkspanRuntime

/// Takes the events of a registry to its services: emits them, and hands them out of the mailboxes on the registry's threads.
struct EventDelivery {
    private let core: RegistryCore

    init(_ core: RegistryCore) { self.core = core }
}

// MARK: - Emitting

extension EventDelivery {
    @discardableResult
    func emit<Event: LifecycleEvent>(_ event: @autoclosure () -> Event, cause: UInt64? = nil) -> UInt64? {
        self.hasAudience(for: Event.self) ? self.post(Posting(event()), cause: cause) : nil
    }

    func hasAudience<Event: LifecycleEvent>(for type: Event.Type) -> Bool {
        let traits = FamilyTraits(type)
        return self.core.fanout { $0.hasAudience(for: traits) }
    }

    /// Emits a fault.
    func fault(
        _ path: String, _ code: FaultEvent.Code, _ message: String, severity: FaultEvent.Severity = .warning,
        hint: String? = nil
    ) {
        self.emit(FaultEvent(path: path, code: code, message: message, severity: severity, hint: hint))
    }

    func post(
        _ posting: Posting, cause: UInt64?, receipts: ((ServiceID, UInt64) -> Receipt)? = nil
    ) -> UInt64 {
        let now = self.core.scheduler.now
        var effects = Fanout.Effects()
        let seq = self.core.fanout { fanout in
            fanout.post(posting, now: now, cause: cause, effects: &effects, receipts: receipts)
        }
        self.carryOut(effects)
        return seq
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

extension EventDelivery {
    /// Adds the mailbox of a service.
    func addMailbox(_ entry: Entry, path: String) {
        let mailbox = Mailbox(
            id: entry.id, path: path, interest: .service(entry.service),
            capacity: entry.budgets.mailbox, limit: entry.budgets.handle, urgency: entry.urgency,
            receiver: ServiceReceiver(service: entry.service))
        self.core.reportTotals()
        self.core.fanout { $0.add(mailbox) }
    }

    /// Gives a receiver the events that waited for it.
    func open(_ id: ServiceID) {
        if self.core.fanout({ $0.open(id) }) {
            self.beginConsumer(id)
        }
    }

    /// Takes a receiver's mailbox away.
    @discardableResult
    func close(_ id: ServiceID) -> Fanout.Removed {
        let removed = self.core.fanout { $0.remove(id) }
        for receipt in removed.receipts {
            receipt(.lost)
        }
        return removed
    }

    /// Begins to hand out what waits for a receiver, if anything does and nobody hands it out yet.
    func beginConsumer(_ id: ServiceID) {
        guard let (generation, urgency, watch) = self.core.fanout({ $0.beginConsumer(id) }) else { return }
        let task = self.core.threads(for: urgency).begin { await self.handOut(id, generation) }
        self.core.fanout { $0.setTask(task, id, generation: generation) }
        if let watch {
            self.watch(id, at: self.core.later(watch))
        }
    }

    /// Hands out letters one after the other until there is none.
    private func handOut(_ id: ServiceID, _ generation: UInt64) async {
        while true {
            switch self.core.fanout({ $0.take(id, generation: generation) }) {
            case .handle(let handling, let path, let receiver):
                let scope = self.core.scope(id, path, handling.call)
                while let letter = handling.next(now: self.core.scheduler.now) {
                    await self.handle(letter, scope.caused(by: letter.stamped.seq), receiver)
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

    private func handle(_ letter: Letter, _ scope: ServiceScope, _ receiver: any EventReceiver) async {
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
            // A fault about the handling of a fault would go round in circles.
            guard family != FaultEvent.familyID else { return }
            self.emit(
                FaultEvent(path: scope.path, code: .handlerFailed, message: "handler threw: \(error)"),
                cause: letter.stamped.seq)
        }
    }

    /// Looks after a consumer, without costing anything per event.
    private func watch(_ id: ServiceID, at deadline: ContinuousClock.Instant) {
        _ = self.core.scheduler.schedule(at: deadline) { [weak core = self.core] in
            guard let core else { return }
            let now = core.scheduler.now
            let delivery = EventDelivery(core)
            switch core.fanout({ $0.check(id, now: now) }) {
            case .done: ()
            case .again(let next): delivery.watch(id, at: next)
            case .late(let path, let family, let limit, let task, let next):
                if let task {
                    core.threads.submit { task.cancel() }
                }
                if family != FaultEvent.familyID {
                    delivery.fault(
                        path, .limitHit, "handling an event of family \(family) takes longer than \(limit)",
                        hint: "budgets.handle is \(limit)")
                }
                delivery.watch(id, at: next)
            }
        }
    }
}

// MARK: - Awaited events

extension EventDelivery {
    func barrier<Event: LifecycleEvent>(_ event: Event, within limit: Duration?) async -> BarrierReport {
        guard !BarrierContext.families.contains(Event.familyID) else {
            // Waiting for a service from inside its own handler would never end.
            let seq = self.post(Posting(event), cause: nil)
            self.fault(
                "registry", .reentrantBarrier,
                "an event of family \(Event.familyID) was awaited inside an event handler, so it was emitted without waiting"
            )
            return BarrierReport(seq: seq, fates: [:])
        }
        let seq = self.post(Posting(event), cause: nil) { id, seq in
            { [weak core = self.core] fate in if let core { EventDelivery(core).report(id, fate, to: seq) } }
        }
        guard let barrier = self.core.fanout({ $0.barriers[seq] }) else { return BarrierReport(seq: seq, fates: [:]) }
        let timers = barrier.waiting.map { id in
            let own = self.core.machine { $0.members[id]?.entry.budgets.handle } ?? .seconds(1)
            return self.core.scheduler.schedule(at: self.core.later(min(own, limit ?? own))) {
                [weak core = self.core] in
                if let core { EventDelivery(core).report(id, .late, to: seq) }
            }
        }
        await barrier.done.value
        for timer in timers {
            timer.cancel()
        }
        let fates = self.core.fanout { $0.barriers.removeValue(forKey: seq)?.fates }
        return BarrierReport(seq: seq, fates: fates ?? [:])
    }

    /// Notes what became of an awaited event at one service.
    private func report(_ id: ServiceID, _ fate: BarrierReport.Fate, to barrier: UInt64) {
        let done = self.core.fanout { fanout in
            fanout.barriers[barrier]?.note(id, fate) == true ? fanout.barriers[barrier]?.done : nil
        }
        done?.fulfill()
    }
}
