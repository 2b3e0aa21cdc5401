/// The routing of events to services, as a value: numbers events, remembers current states, fills mailboxes.
///
/// One lock around it makes the order of numbers the order in every mailbox.
struct Fanout: Sendable {
    /// The registry this one was nested in; events go there.
    var home: WeakReference<RegistryCore>? { didSet { self.tellCollectors() } }

    private var sequence: UInt64 = 0
    private var slots: [Mailbox?] = []
    private var free: [Int] = []
    private var index: [ServiceID: Int] = [:]
    private var families: [FamilyID: Family] = [:]
    private var current: [RetentionKey: Stamped<any LifecycleEvent>] = [:]
    // Consumers whose mailbox is gone while they still handle a letter, and who waits for them to end.
    private var departing: [ServiceID: Departing] = [:]
    private var idleWaiters: [ServiceID: [@Sendable () -> Void]] = [:]
    /// The awaited events, by number.
    var barriers: [UInt64: Barrier] = [:]
    private var observers = 0

    /// A family that has been emitted, or asked for.
    private struct Family: Sendable {
        let traits: FamilyTraits
        /// For a family that is handed over in batches.
        let collector: (any EventCollecting)?
        var receivers: [Int]
    }

    private struct Departing: Sendable {
        var generation: UInt64
        var call: ServiceCall
        var task: Task<Void, Never>?
    }

    /// The work that a post leaves to be done outside the lock.
    struct Effects: Sendable {
        var wake: [ServiceID] = []
        var overflowing: [(path: String, capacity: Int)] = []
        var dropped: [Mailbox.Receipt] = []
    }
}

// MARK: - Emitting

extension Fanout {
    enum Audience {
        case nobody
        case somebody
        case elsewhere(RegistryCore)
    }

    /// Whether an event of a family is worth making.
    mutating func audience(of traits: FamilyTraits) -> Audience {
        if let home = self.home?.object {
            return .elsewhere(home)
        }
        let isWanted = !self.family(traits).receivers.isEmpty
        return isWanted || traits.delivery == .states ? .somebody : .nobody
    }

    /// The collector of a family that is handed over in batches; nil before the first event.
    func collector(of family: FamilyID) -> (any EventCollecting)? { self.families[family]?.collector }

    /// The collector of a family that is handed over in batches; `new` if it has none.
    mutating func collector(
        _ traits: FamilyTraits, orAdd new: any EventCollecting
    ) -> any EventCollecting {
        let collector = self.family(traits, collector: new).collector ?? new
        self.tellCollectors()
        return collector
    }

    @discardableResult
    private mutating func family(_ traits: FamilyTraits, collector: (any EventCollecting)? = nil) -> Family {
        if let known = self.families[traits.family], known.collector != nil || collector == nil { return known }
        let receivers = self.slots.indices.filter { slot in
            self.slots[slot].map { traits.includes($0.interest) } ?? false
        }
        let family = Family(traits: traits, collector: collector, receivers: receivers)
        self.families[traits.family] = family
        return family
    }

    mutating func post(
        _ posting: Posting, now: ContinuousClock.Instant, cause: UInt64?, effects: inout Effects,
        receipts: ((ServiceID, UInt64) -> Mailbox.Receipt)? = nil
    ) -> UInt64 {
        self.handOver(&effects)
        self.sequence += 1
        let stamped = Stamped(posting.event, seq: self.sequence, time: now, cause: cause)
        self.remember(stamped, posting.retention)
        var awaited: [ServiceID: String] = [:]
        for slot in self.family(posting.traits).receivers {
            // No copy of a mailbox may be alive while it is changed, or all that waits in it is copied.
            guard let mode = self.slots[slot]?.mode, let id = self.slots[slot]?.id, mode.accepts else { continue }
            // Who is not ready gets a barrier as state or news later; nobody waits for it.
            let receipt = mode.isOpen ? receipts?(id, self.sequence) : nil
            if receipt != nil { awaited[id] = self.slots[slot]?.path }
            self.deliver(
                Mailbox.Letter(stamped: stamped, retention: posting.retention, receipt: receipt), slot, id, &effects)
        }
        if !awaited.isEmpty { self.barriers[self.sequence] = Barrier(awaited) }
        return self.sequence
    }

    /// Gives what was collected to all who are interested.
    mutating func handOver(_ effects: inout Effects) {
        for family in self.families.values {
            guard let contents = family.collector?.takeAll() else { continue }
            let batch = EventBatch(family.traits.family, contents, first: self.sequence + 1)
            self.sequence += UInt64(contents.count)
            // Added up once for all that need it.
            var sums: (any EventTally)?
            let tally: () -> (any EventTally)? = {
                if sums == nil { sums = batch.tally() }
                return sums
            }
            for slot in family.receivers {
                guard let mode = self.slots[slot]?.mode, let id = self.slots[slot]?.id, mode.accepts,
                    let result = self.slots[slot]?.post(batch, tally: family.traits.isSummed ? tally : nil)
                else { continue }
                self.note(result, slot, id, &effects)
            }
        }
    }

    private mutating func deliver(
        _ letter: Mailbox.Letter, _ slot: Int, _ id: ServiceID, _ effects: inout Effects
    ) {
        guard let result = self.slots[slot]?.post(letter) else { return }
        self.note(result, slot, id, &effects)
    }

    private func note(_ result: Mailbox.OnPost, _ slot: Int, _ id: ServiceID, _ effects: inout Effects) {
        effects.dropped += result.receipts
        if result.beginsOverflow, let mailbox = self.slots[slot] {
            effects.overflowing.append((mailbox.path, mailbox.capacity))
        }
        if self.slots[slot]?.wantsConsumer == true {
            effects.wake.append(id)
        }
    }

    private mutating func remember(_ stamped: Stamped<any LifecycleEvent>, _ retention: Retention) {
        switch retention {
        case .none: ()
        case .keep(let subject, let aspect): self.current[RetentionKey(subject, aspect)] = stamped
        case .forget(let subject, let aspect): self.current[RetentionKey(subject, aspect)] = nil
        case .forgetAll(let subject): self.current = self.current.filter { $0.key.subject != subject }
        }
    }
}

// MARK: - Receivers

extension Fanout {
    private func tellCollectors() {
        let isElsewhere = self.home?.object != nil
        for family in self.families.values {
            family.collector?.audience = isElsewhere ? .elsewhere : family.receivers.isEmpty ? .nobody : .somebody
        }
    }

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
        for (name, family) in self.families where family.traits.includes(mailbox.interest) {
            heard.insert(name)
            self.families[name]?.receivers.append(slot)
        }
        for (key, stamped) in self.current.sorted(by: { $0.value.seq < $1.value.seq })
        where heard.contains(stamped.event.familyID) {
            _ = mailbox.post(Mailbox.Letter(stamped: stamped, retention: key.kept, receipt: nil))
        }
        self.slots[slot] = mailbox
        self.index[mailbox.id] = slot
        self.tellCollectors()
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
        var receipts: [Mailbox.Receipt] = []
        var undelivered = 0
        var lost = 0
        var task: Task<Void, Never>?
        var call: ServiceCall?
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
                task: departing?.task, call: departing?.call, isHandling: departing?.call.isHandling ?? false)
        }
        self.free.append(slot)
        for family in self.families.keys { self.families[family]?.receivers.removeAll { $0 == slot } }
        self.tellCollectors()
        let (left, isHandling) = mailbox.call.close()
        for share in left { mailbox.giveBack(share) }
        let waiting = mailbox.waiting
        let receipts = mailbox.discard()  // counts what waited as lost
        if case .busy = mailbox.consumer {
            self.departing[id] = Departing(
                generation: mailbox.generation, call: mailbox.call, task: mailbox.task)
        }
        return Removed(
            receipts: receipts, undelivered: waiting, lost: mailbox.lost, task: mailbox.task, call: mailbox.call,
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
        guard let slot = self.index[id], let mailbox = self.slots[slot], case .none = mailbox.consumer else {
            return self.index[id] == nil
        }
        return !mailbox.wantsConsumer
    }

    /// Takes all receivers out, for a registry that is being nested; they begin anew there.
    mutating func surrender() -> [Mailbox] {
        let all = self.slots.compactMap { $0 }
        for mailbox in all {
            _ = self.remove(mailbox.id)
        }
        self.current = [:]
        return all.map { mailbox in
            let isKept = mailbox.isKept
            var mailbox = Mailbox(
                id: mailbox.id, path: mailbox.path, interest: mailbox.interest, capacity: mailbox.capacity,
                limit: mailbox.limit, urgency: mailbox.urgency, receiver: mailbox.receiver)
            mailbox.isKept = isKept
            mailbox.open()
            return mailbox
        }
    }

    /// Leaves a receiver in place when its registration goes.
    mutating func keep(_ id: ServiceID) {
        self[id]?.isKept = true
    }

    func isKept(_ id: ServiceID) -> Bool { self[id]?.isKept ?? false }

    mutating func rename(_ id: ServiceID, to path: String) { self[id]?.path = path }

    /// The mailbox of a receiver, for a service that shows it; nil when there is none.
    func inspected(_ id: ServiceID) -> InspectedMailbox? {
        self[id].map { mailbox in
            InspectedMailbox(
                waiting: mailbox.waiting, capacity: mailbox.capacity, delivered: mailbox.delivered, lost: mailbox.lost)
        }
    }

    /// The numbers of letters that a receiver got and lost.
    func counts(_ id: ServiceID) -> (delivered: Int, lost: Int, waiting: Int)? {
        self[id].map { ($0.delivered, $0.lost, $0.waiting) }
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
    /// The limit is told if a timer must be set to look after it.
    mutating func beginConsumer(_ id: ServiceID) -> (generation: UInt64, urgency: Urgency, watch: Duration?)? {
        guard var mailbox = self[id].take() else { return nil }
        defer { self[id] = mailbox }
        guard mailbox.wantsConsumer else { return nil }
        mailbox.generation += 1
        mailbox.consumer = .busy
        defer { mailbox.isWatched = true }
        return (mailbox.generation, mailbox.urgency, mailbox.isWatched ? nil : mailbox.limit)
    }

    /// Remembers a consumer's task, so that it can be cancelled when it is late.
    mutating func setTask(_ task: Task<Void, Never>, _ id: ServiceID, generation: UInt64) {
        guard let mailbox = self[id], mailbox.generation == generation, case .busy = mailbox.consumer else { return }
        self[id]?.task = task
    }

    enum OnTake: Sendable {
        case handle(ServiceCall, path: String, any EventReceiver)
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
        if let left = mailbox.call.takeBack() {
            for share in left { mailbox.giveBack(share) }
        } else if let share = mailbox.takeShare() {
            mailbox.call.fill(share)
            return .handle(mailbox.call, path: mailbox.path, mailbox.receiver)
        }
        mailbox.consumer = .none
        mailbox.task = nil
        if mailbox.wantsConsumer {
            return .renew
        }
        return .end(self.idleWaiters.removeValue(forKey: id) ?? [])
    }

    enum OnCheck: Sendable {
        case late(
            path: String, family: FamilyID, limit: Duration, task: Task<Void, Never>?,
            again: ContinuousClock.Instant)
        case again(at: ContinuousClock.Instant)
        case done
    }

    /// Looks whether a consumer handles one letter for too long.
    mutating func check(_ id: ServiceID, now: ContinuousClock.Instant) -> OnCheck {
        guard let mailbox = self[id], case .busy = mailbox.consumer else {
            self[id]?.isWatched = false
            return .done
        }
        switch mailbox.call.check(now: now, limit: mailbox.limit) {
        case .again(let next): return .again(at: next)
        case .late(let family):
            return .late(
                path: mailbox.path, family: family, limit: mailbox.limit, task: mailbox.task,
                again: now.advanced(by: mailbox.limit))
        }
    }
}
