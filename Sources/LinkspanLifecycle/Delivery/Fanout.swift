/// The routing of events to services, as a value: numbers events, remembers current states, fills mailboxes.
///
/// One lock around it makes the order of numbers the order in every mailbox.
struct Fanout: Sendable {
    private var sequence: UInt64 = 0
    private var slots: [Mailbox?] = []
    private var free: [Int] = []
    private var index: [ServiceID: Int] = [:]
    private var families: [FamilyID: Family] = [:]
    /// The current states by subject and aspect.
    private var current: [String: [String: Letter]] = [:]
    // Consumers whose mailbox is gone while they still handle a letter, and who waits for them to end.
    private var departing: [ServiceID: Departing] = [:]
    private var idleWaiters: [ServiceID: [@Sendable () -> Void]] = [:]
    private var observers = 0

    /// A family that has been emitted, or asked for.
    private struct Family: Sendable {
        let traits: FamilyTraits
        var receivers: [Int]
    }

    private struct Departing: Sendable {
        var generation: UInt64
        var handling: LetterHandling
        var task: Task<Void, Never>?
    }

    /// The work that a post leaves to be done outside the lock.
    struct Effects: Sendable {
        var wake: [ServiceID] = []
        var overflowing: [(path: String, capacity: Int)] = []
    }
}

// MARK: - Emitting

extension Fanout {
    /// Whether an event of a family is worth making.
    mutating func hasAudience(for traits: FamilyTraits) -> Bool {
        traits.hasStates || !self.receivers(of: traits).isEmpty
    }

    /// The receivers of a family, looked for once.
    private mutating func receivers(of traits: FamilyTraits) -> [Int] {
        if let known = self.families[traits.family] { return known.receivers }
        let receivers = self.slots.indices.filter { slot in
            self.slots[slot].map { traits.includes($0.recipient.interest) } ?? false
        }
        self.families[traits.family] = Family(traits: traits, receivers: receivers)
        return receivers
    }

    mutating func post(
        _ posting: Posting, now: ContinuousClock.Instant, cause: UInt64?, effects: inout Effects
    ) -> UInt64 {
        self.sequence += 1
        let letter = Letter(
            stamped: Stamped(posting.event, seq: self.sequence, time: now, cause: cause), retention: posting.retention,
            isTotal: posting.isTotal)
        self.remember(letter)
        for slot in self.receivers(of: posting.traits) {
            // No copy of a mailbox may be alive while it is changed, or all that waits in it is copied.
            guard self.slots[slot]?.mode != .sealed, let beginsOverflow = self.slots[slot]?.post(letter) else {
                continue
            }
            if beginsOverflow, let recipient = self.slots[slot]?.recipient {
                effects.overflowing.append((recipient.path, recipient.capacity))
            }
            if self.slots[slot]?.wantsConsumer == true, let id = self.slots[slot]?.recipient.id {
                effects.wake.append(id)
            }
        }
        return self.sequence
    }

    /// The receivers of a family that are ready, each with its limit for one event.
    mutating func openReceivers(of traits: FamilyTraits) -> [(ServiceID, Duration)] {
        self.receivers(of: traits).compactMap { self.slots[$0] }.filter { $0.mode == .open }
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
        let slot = self.free.popLast() ?? self.slots.count
        if slot == self.slots.count {
            self.slots.append(nil)
        }
        var mailbox = mailbox
        var heard: Set<FamilyID> = []
        for (name, family) in self.families where family.traits.includes(mailbox.recipient.interest) {
            heard.insert(name)
            self.families[name]?.receivers.append(slot)
        }
        let states = self.current.values.flatMap(\.values).filter { heard.contains($0.stamped.event.familyID) }
        for letter in states.sorted(by: { $0.stamped.seq < $1.stamped.seq }) { mailbox.post(letter) }
        self.slots[slot] = mailbox
        self.index[mailbox.recipient.id] = slot
    }

    func hasMailbox(_ id: ServiceID) -> Bool { self.index[id] != nil }

    /// Opens a receiver's mailbox; `true` if a consumer must be begun.
    mutating func open(_ id: ServiceID) -> Bool {
        self[id]?.open()
        return self[id]?.wantsConsumer ?? false
    }

    /// Takes no more letters for a receiver.
    mutating func seal(_ id: ServiceID) { self[id]?.mode = .sealed }

    /// The remains of a receiver that was removed.
    struct Removed: Sendable {
        var lost = 0
        var task: Task<Void, Never>?
        var handling: LetterHandling?
        /// Whether the receiver is still busy with a letter.
        var isHandling = false
        /// Let go of outside the lock, since what it holds may do anything when it goes away.
        var mailbox: Mailbox?
    }

    /// Takes a receiver out; its consumer gets nothing more.
    mutating func remove(_ id: ServiceID) -> Removed {
        guard let slot = self.index.removeValue(forKey: id), var mailbox = self.slots[slot].take() else {
            let departing = self.departing[id]
            return Removed(
                task: departing?.task, handling: departing?.handling,
                isHandling: departing?.handling.isHandling ?? false)
        }
        self.free.append(slot)
        for family in self.families.keys { self.families[family]?.receivers.removeAll { $0 == slot } }
        let (left, isHandling) = mailbox.handling.close()
        mailbox.giveBack(left)
        mailbox.discard()
        let consumer = mailbox.consumer
        if consumer.isBusy {
            self.departing[id] = Departing(
                generation: consumer.generation, handling: mailbox.handling, task: consumer.task)
        }
        return Removed(
            lost: mailbox.lost, task: consumer.task, handling: mailbox.handling,
            isHandling: isHandling, mailbox: mailbox)
    }

    /// Calls `waiter` when the receiver has nothing to handle and nothing waits; `false` if that is so already.
    mutating func whenIdle(_ id: ServiceID, _ waiter: @escaping @Sendable () -> Void) -> Bool {
        guard !self.isIdle(id) else { return false }
        self.idleWaiters[id, default: []].append(waiter)
        return true
    }

    private func isIdle(_ id: ServiceID) -> Bool {
        guard self.departing[id] == nil else { return false }
        guard let mailbox = self[id] else { return true }
        return !mailbox.consumer.isBusy && !mailbox.wantsConsumer
    }

    /// Takes all receivers out, for a registry that is being nested; they start again there.
    mutating func surrender() -> [Mailbox] {
        let all = self.slots.compactMap { $0?.recipient }
        for recipient in all { _ = self.remove(recipient.id) }
        self.current = [:]
        return all.map { Mailbox($0, mode: .open) }
    }

    /// Leaves a receiver in place when its registration goes.
    mutating func keep(_ id: ServiceID) { self[id]?.recipient.isKept = true }

    func isKept(_ id: ServiceID) -> Bool { self[id]?.recipient.isKept ?? false }

    mutating func rename(_ id: ServiceID, to path: String) { self[id]?.recipient.path = path }

    /// The mailbox of a receiver, for a service that shows it; nil when there is none.
    func inspected(_ id: ServiceID) -> InspectedMailbox? {
        self[id].map { mailbox in
            InspectedMailbox(
                waiting: mailbox.waiting, capacity: mailbox.recipient.capacity, delivered: mailbox.delivered,
                lost: mailbox.lost)
        }
    }
}

// MARK: - Consumers

extension Fanout {
    /// The mailbox of a receiver, changed in its place.
    private subscript(_ id: ServiceID) -> Mailbox? {
        get { self.index[id].flatMap { self.slots[$0] } }
        _modify {
            var none: Mailbox?
            if let slot = self.index[id] { yield &self.slots[slot] } else { yield &none }
        }
    }

    /// Marks that a consumer is being begun; `nil` if none is needed.
    ///
    /// Reports the limit if it needs a timer.
    mutating func beginConsumer(_ id: ServiceID) -> (generation: UInt64, urgency: Urgency, watch: Duration?)? {
        guard var mailbox = self[id].take() else { return nil }
        defer { self[id] = mailbox }
        guard mailbox.wantsConsumer else { return nil }
        mailbox.consumer.generation += 1
        mailbox.consumer.isBusy = true
        defer { mailbox.consumer.isWatched = true }
        let recipient = mailbox.recipient
        return (mailbox.consumer.generation, recipient.urgency, mailbox.consumer.isWatched ? nil : recipient.limit)
    }

    /// Remembers a consumer's task, so that it can be cancelled when it is late.
    mutating func setTask(_ task: Task<Void, Never>, _ id: ServiceID, generation: UInt64) {
        guard let consumer = self[id]?.consumer, consumer.generation == generation, consumer.isBusy else { return }
        self[id]?.consumer.task = task
    }

    enum OnTake: Sendable {
        case handle(LetterHandling, Recipient)
        /// This consumer was cancelled; another must go on.
        case renew
        case end([@Sendable () -> Void])
    }

    /// The next letters for a consumer that has none in hand any more, or was late.
    mutating func take(_ id: ServiceID, generation: UInt64) -> OnTake {
        if let departed = self.departing[id], departed.generation == generation {
            self.departing[id] = nil
            return .end(self.idleWaiters.removeValue(forKey: id) ?? [])
        }
        guard var mailbox = self[id].take() else { return .end([]) }
        defer { self[id] = mailbox }
        if let left = mailbox.handling.takeBack() {
            mailbox.giveBack(left)
        } else if mailbox.waiting > 0 {
            mailbox.handling.fill(mailbox.takeShare())
            return .handle(mailbox.handling, mailbox.recipient)
        }
        (mailbox.consumer.isBusy, mailbox.consumer.task) = (false, nil)
        if mailbox.wantsConsumer {
            return .renew
        }
        return .end(self.idleWaiters.removeValue(forKey: id) ?? [])
    }

    enum OnCheck: Sendable {
        case late(Recipient, family: FamilyID, task: Task<Void, Never>?, again: ContinuousClock.Instant)
        case again(at: ContinuousClock.Instant)
        case done
    }

    /// Looks whether a consumer handles one letter for too long.
    mutating func check(_ id: ServiceID, now: ContinuousClock.Instant) -> OnCheck {
        guard let mailbox = self[id], mailbox.consumer.isBusy else {
            self[id]?.consumer.isWatched = false
            return .done
        }
        let limit = mailbox.recipient.limit
        switch mailbox.handling.check(now: now, limit: limit) {
        case .again(let next): return .again(at: next)
        case .late(let family):
            return .late(
                mailbox.recipient, family: family, task: mailbox.consumer.task, again: now.advanced(by: limit))
        }
    }
}
