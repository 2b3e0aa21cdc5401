internal import LinkspanRuntime

/// The routing of events to services, as a value: numbers events, remembers current states, fills mailboxes.
///
/// One lock around it makes the order of numbers the order in every mailbox.
struct Fanout: Sendable {
    private var sequence: UInt64 = 0
    private var mailboxes: [ServiceID: Mailbox] = [:]
    /// The receivers of each family that has been emitted, or asked for.
    private var families: [FamilyID: [ServiceID]] = [:]
    /// The current states by subject and aspect.
    private var current: [String: [String: Letter]] = [:]
    // Consumers whose mailbox is gone while they still handle a letter, and who waits for them to end.
    private var departing: [ServiceID: Mailbox.Consumer] = [:]
    private var idleWaiters: [ServiceID: [@Sendable () -> Void]] = [:]
    private var observers = 0

    /// The work that a post leaves to be done outside the lock.
    struct Effects: Sendable {
        var wake: [ServiceID] = []
        var overflowing: [(path: String, capacity: Int)] = []
    }
}

// MARK: - Emitting

extension Fanout {
    /// The receivers of a family, looked for once.
    private mutating func receivers(of family: FamilyID) -> [ServiceID] {
        if let known = self.families[family] { return known }
        let receivers = self.mailboxes.values.map(\.recipient).filter { recipient in
            assert(Growth.step())
            return recipient.receiver.takes(family)
        }.map(\.id)
        self.families[family] = receivers
        return receivers
    }

    mutating func hasReceivers(of family: FamilyID) -> Bool { !self.receivers(of: family).isEmpty }

    mutating func post(_ letter: Letter, effects: inout Effects) -> UInt64 {
        self.sequence += 1
        var letter = letter
        letter.stamped.seq = self.sequence
        self.remember(letter)
        for id in self.receivers(of: letter.family) where self.mailboxes[id]?.mode != .sealed {
            assert(Growth.step())
            // No copy of a mailbox may be alive while it is changed, or all that waits in it is copied.
            if self.mailboxes[id]?.post(letter) == true, let recipient = self.mailboxes[id]?.recipient {
                effects.overflowing.append((recipient.path, recipient.capacity))
            }
            if self.mailboxes[id]?.wantsConsumer == true { effects.wake.append(id) }
        }
        return self.sequence
    }

    /// The receivers of a family that are ready, each with its limit for one event.
    mutating func openReceivers(of family: FamilyID) -> [(ServiceID, Duration)] {
        self.receivers(of: family).compactMap { self.mailboxes[$0] }.filter { $0.mode == .open }
            .map { ($0.recipient.id, $0.recipient.limit) }
    }

    private mutating func remember(_ letter: Letter) {
        switch letter.retention {
        case .none: ()
        case .keep(let subject, let aspect): self.current[subject, default: [:]][aspect] = letter
        case .forget(let subject, let aspect): self.current[subject]?[aspect] = nil
        case .forgetAll(let subject): self.current[subject] = nil
        }
    }
}

// MARK: - Receivers

extension Fanout {
    /// The number of the next observer.
    mutating func nextObserver() -> Int {
        self.observers += 1
        return self.observers
    }

    /// Adds a receiver and gives it the current states, so that a late one knows what all others know.
    mutating func add(_ mailbox: Mailbox) {
        var mailbox = mailbox
        let heard = self.families.keys.filter { mailbox.recipient.receiver.takes($0) }
        for family in heard { self.families[family]?.append(mailbox.recipient.id) }
        let states = self.current.values.flatMap(\.values).filter { heard.contains($0.family) }
        for letter in states.sorted(by: { $0.stamped.seq < $1.stamped.seq }) { mailbox.post(letter) }
        self.mailboxes[mailbox.recipient.id] = mailbox
    }

    func hasMailbox(_ id: ServiceID) -> Bool { self.mailboxes[id] != nil }

    /// Opens a receiver's mailbox; `true` if a consumer must be begun.
    mutating func open(_ id: ServiceID) -> Bool {
        self.mailboxes[id]?.open()
        return self.mailboxes[id]?.wantsConsumer ?? false
    }

    /// Takes no more letters for a receiver.
    mutating func seal(_ id: ServiceID) { self.mailboxes[id]?.mode = .sealed }

    /// Takes a receiver out; its consumer gets nothing more.
    ///
    /// - Returns: the empty mailbox, which is let go of outside the lock, since what it holds may do anything when it goes
    ///   away; and the consumer, also when it has been taken out before and is still busy.
    mutating func remove(_ id: ServiceID) -> (mailbox: Mailbox?, consumer: Mailbox.Consumer?) {
        guard var mailbox = self.mailboxes.removeValue(forKey: id) else { return (nil, self.departing[id]) }
        for family in self.families.keys { self.families[family]?.removeAll { $0 == id } }
        mailbox.discard()
        if mailbox.consumer.isBusy { self.departing[id] = mailbox.consumer }
        return (mailbox, mailbox.consumer)
    }

    /// Calls `waiter` when the receiver has nothing to handle and nothing waits; `false` if that is so already.
    mutating func whenIdle(_ id: ServiceID, _ waiter: @escaping @Sendable () -> Void) -> Bool {
        guard !self.isIdle(id) else { return false }
        self.idleWaiters[id, default: []].append(waiter)
        return true
    }

    private func isIdle(_ id: ServiceID) -> Bool {
        guard self.departing[id] == nil else { return false }
        guard let mailbox = self.mailboxes[id] else { return true }
        return !mailbox.consumer.isBusy && !mailbox.wantsConsumer
    }

    /// Takes all receivers out, for a registry that is being nested; they start again there.
    mutating func surrender() -> [Mailbox] {
        let all = self.mailboxes.values.map(\.recipient)
        for recipient in all { _ = self.remove(recipient.id) }
        self.current = [:]
        return all.map { Mailbox($0, mode: .open) }
    }

    mutating func rename(_ id: ServiceID, to path: String) { self.mailboxes[id]?.recipient.path = path }

    /// The mailbox of a receiver, for a service that shows it; nil when there is none.
    func inspected(_ id: ServiceID) -> InspectedMailbox? {
        self.mailboxes[id].map { mailbox in
            InspectedMailbox(
                waiting: mailbox.waiting, capacity: mailbox.recipient.capacity, delivered: mailbox.delivered,
                lost: mailbox.lost)
        }
    }
}

// MARK: - Consumers

extension Fanout {
    /// Marks that a consumer is being begun; `nil` if none is needed.
    ///
    /// Reports the limit if it needs a timer.
    mutating func beginConsumer(_ id: ServiceID) -> (generation: UInt64, urgency: Urgency, watch: Duration?)? {
        guard let mailbox = self.mailboxes[id], mailbox.wantsConsumer else { return nil }
        self.mailboxes[id]?.consumer.begin()
        let (former, recipient) = (mailbox.consumer, mailbox.recipient)
        return (former.generation + 1, recipient.urgency, former.isWatched ? nil : recipient.limit)
    }

    /// Remembers a consumer's task, so that it can be cancelled when it is late.
    mutating func setTask(_ task: Task<Void, Never>, _ id: ServiceID, generation: UInt64) {
        guard let consumer = self.mailboxes[id]?.consumer, consumer.generation == generation, consumer.isBusy else {
            return
        }
        self.mailboxes[id]?.consumer.task = task
    }

    enum OnTake: Sendable {
        case handle(Letter, Recipient, ServiceCall)
        /// This consumer was cancelled; another must go on.
        case renew
        case end([@Sendable () -> Void])
    }

    /// The next letter for a consumer that has handled the last one.
    mutating func take(_ id: ServiceID, generation: UInt64, now: ContinuousClock.Instant) -> OnTake {
        if self.departing[id]?.generation == generation {
            self.departing[id] = nil
        } else {
            let letter = self.mailboxes[id]?.handOut(now: now)
            guard let mailbox = self.mailboxes[id] else { return .end([]) }
            if let letter { return .handle(letter, mailbox.recipient, mailbox.consumer.call) }
            if mailbox.wantsConsumer { return .renew }
        }
        return .end(self.idleWaiters.removeValue(forKey: id) ?? [])
    }

    /// Looks whether a consumer handles one letter for too long, which is reported once; nil when it has ended.
    mutating func check(_ id: ServiceID, now: ContinuousClock.Instant) -> (
        late: FamilyID?, recipient: Recipient, task: Task<Void, Never>?, next: ContinuousClock.Instant
    )? {
        guard let mailbox = self.mailboxes[id], mailbox.consumer.isBusy else {
            self.mailboxes[id]?.consumer.isWatched = false
            return nil
        }
        let (recipient, consumer) = (mailbox.recipient, mailbox.consumer)
        guard let present = consumer.present, !consumer.isLate else {
            return (nil, recipient, consumer.task, now.advanced(by: recipient.limit))
        }
        let deadline = present.since.advanced(by: recipient.limit)
        guard now >= deadline else { return (nil, recipient, consumer.task, deadline) }
        self.mailboxes[id]?.consumer.isLate = true
        return (present.family, recipient, consumer.task, now.advanced(by: recipient.limit))
    }
}
