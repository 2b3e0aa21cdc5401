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
        self.hasAudience(for: Event.self) ? self.post(Letter(event(), at: self.core.scheduler.now, cause: cause)) : nil
    }

    /// Whether an event of a family is worth making: states are kept for services that start later.
    func hasAudience<Event: LifecycleEvent>(for type: Event.Type) -> Bool {
        Event.family.retention != nil || self.core.fanout { $0.hasReceivers(of: Event.familyID) }
    }

    /// Emits a fault.
    func fault(
        _ path: String, _ code: FaultEvent.Code, _ message: String, severity: FaultEvent.Severity = .warning,
        hint: String? = nil
    ) {
        self.emit(FaultEvent(path: path, code: code, message: message, severity: severity, hint: hint))
    }

    private func post(_ letter: Letter) -> UInt64 {
        var effects = Fanout.Effects()
        let seq = self.core.fanout { $0.post(letter, effects: &effects) }
        for id in effects.wake { self.beginConsumer(id) }
        for mailbox in effects.overflowing {
            self.fault(
                mailbox.path, .mailboxOverflow, "more than \(mailbox.capacity) events wait; the oldest are dropped",
                hint: "budgets.mailbox is \(mailbox.capacity)")
        }
        return seq
    }

    /// Emits an event, and waits until each open receiver of its family has nothing left to handle, or its time is over.
    func barrier<Event: LifecycleEvent>(_ event: Event, within limit: Duration?) async {
        let receivers = self.core.fanout { $0.openReceivers(of: Event.familyID) }
        _ = self.post(Letter(event, at: self.core.scheduler.now))
        await withTaskGroup(of: Void.self) { group in
            for (id, own) in receivers {
                group.addTask { await self.idle(id, within: min(own, limit ?? own)) }
            }
        }
    }
}

// MARK: - Consuming

extension EventDelivery {
    /// Adds the mailbox of a service.
    func addMailbox(_ entry: Entry, path: String) {
        let recipient = Recipient(
            id: entry.id, path: path, capacity: entry.budgets.mailbox, limit: entry.budgets.handle,
            urgency: entry.urgency, receiver: .service(entry.service))
        self.core.reportTotals()
        self.core.fanout { $0.add(Mailbox(recipient)) }
    }

    /// Gives a receiver the events that waited for it.
    func open(_ id: ServiceID) {
        if self.core.fanout({ $0.open(id) }) {
            self.beginConsumer(id)
        }
    }

    /// Takes a receiver's mailbox away.
    @discardableResult
    func close(_ id: ServiceID) -> (mailbox: Mailbox?, consumer: Mailbox.Consumer?) {
        self.core.fanout { $0.remove(id) }
    }

    /// Returns once a receiver has nothing in hand, or after `limit`.
    func idle(_ id: ServiceID, within limit: Duration) async {
        await self.core.wait(until: self.core.later(limit)) { done in self.core.fanout { $0.whenIdle(id, done) } }
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
            let now = self.core.scheduler.now
            switch self.core.fanout({ $0.take(id, generation: generation, now: now) }) {
            case .handle(let letter, let recipient, let call):
                let scope = self.core.scope(id, recipient.path, call, cause: letter.stamped.seq)
                await self.handle(letter, scope, recipient.receiver)
            case .renew: return self.beginConsumer(id)
            case .end(let waiters):
                for waiter in waiters { waiter() }
                return
            }
        }
    }

    private func handle(_ letter: Letter, _ scope: ServiceScope, _ receiver: Receiver) async {
        do {
            if try await !receiver.deliver(letter.stamped, scope) { self.close(scope.id) }
        } catch {
            // A fault about the handling of a fault would go round in circles.
            guard letter.family != FaultEvent.familyID else { return }
            self.emit(
                FaultEvent(path: scope.path, code: .handlerFailed, message: "handler threw: \(error)"),
                cause: letter.stamped.seq)
        }
    }

    /// Looks after a consumer, without costing anything per event.
    private func watch(_ id: ServiceID, at deadline: ContinuousClock.Instant) {
        _ = self.core.scheduler.schedule(at: deadline) { [weak core = self.core] in
            guard let core else { return }
            let (now, delivery) = (core.scheduler.now, EventDelivery(core))
            guard let (late, recipient, task, next) = core.fanout({ $0.check(id, now: now) }) else { return }
            if late != nil, let task { core.threads.submit { task.cancel() } }
            if let late, late != FaultEvent.familyID {
                delivery.fault(
                    recipient.path, .limitHit,
                    "handling an event of family \(late) takes longer than \(recipient.limit)",
                    hint: "budgets.handle is \(recipient.limit)")
            }
            delivery.watch(id, at: next)
        }
    }
}
