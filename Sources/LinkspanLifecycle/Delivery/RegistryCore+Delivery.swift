internal import LinkspanRuntime

/// The families of barriers that the present code is being called for.
enum BarrierContext {
    @TaskLocal static var families: Set<FamilyID> = []
}

// MARK: - Emitting

extension RegistryCore {
    @discardableResult
    func emit<Event: LifecycleEvent>(_ event: @autoclosure () -> Event, cause: UInt64? = nil) -> UInt64? {
        switch self.fanout({ $0.audience(of: FamilyTraits(Event.self)) }) {
        case .nobody: nil
        case .elsewhere(let home): home.emit(event(), cause: cause)
        case .somebody: self.post(Posting(event()), cause: cause)
        }
    }

    func hasAudience<Event: LifecycleEvent>(for type: Event.Type) -> Bool {
        switch self.fanout({ $0.audience(of: FamilyTraits(type)) }) {
        case .nobody: false
        case .somebody: true
        case .elsewhere(let home): home.hasAudience(for: type)
        }
    }

    func post(
        _ posting: Posting, cause: UInt64?, receipts: ((ServiceID, UInt64) -> Receipt)? = nil
    ) -> UInt64 {
        let now = self.scheduler.now
        var effects = Fanout.Effects()
        let seq = self.fanout { fanout in
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

extension RegistryCore {
    /// Gives a receiver the events that waited for it.
    func open(_ id: ServiceID) {
        if self.fanout({ $0.open(id) }) {
            self.beginConsumer(id)
        }
    }

    /// Takes a receiver's mailbox away.
    @discardableResult
    func close(_ id: ServiceID) -> Fanout.Removed {
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
            case .handle(let handling, let path, let receiver):
                let scope = self.scope(id, path, handling.call)
                while let letter = handling.next(now: self.scheduler.now) {
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
