internal import DequeModule

/// Commands that are repeated until they are answered.
///
/// Of one ordering key only the oldest is under way, so that its order holds with any server, whatever is lost. One that
/// a store has not committed yet keeps its place and is not sent, and what an earlier process left comes before all new.
struct DeliveryQueues: Sendable {
    /// The head of an ordering key that is to be sent now.
    struct Begun: Sendable {
        var command: Command
        /// Set when it has been sent over this link before: it is asked for again under the same number.
        var requestID: UInt64?
    }

    private struct Queue {
        var waiting: Deque<Command> = []
        /// The number of them that an earlier process left; they come first.
        var restoredCount = 0
        var isUnderWay = false
        /// Whether the ordering key's name is in ``DeliveryQueues/ready``.
        var isReady = false
        /// The number of times the head was given to a link, be it this one or an earlier one.
        var attempts = 0
        /// Whether a link ended because of a message while the head was under way.
        var isSuspect = false
        /// The head's number on this link.
        var requestID: UInt64?
        /// The instant at which the head is to be sent again over this link.
        var repeatAt: ContinuousClock.Instant?

        /// Notes that the head is given to a link; nil when there is none to give.
        mutating func begin() -> Begun? {
            guard self.isReady else { return nil }
            self.isReady = false
            guard let head = self.waiting.first, !self.isUnderWay else { return nil }
            self.isUnderWay = true
            self.attempts += 1
            return Begun(command: head, requestID: self.requestID)
        }

        /// Takes a command out.
        mutating func remove(_ id: Command.ID) -> (command: Command, wasSent: Bool)? {
            guard let index = self.waiting.firstIndex(where: { $0.id == id }) else { return nil }
            let command = self.waiting.remove(at: index)
            let wasHead = index == self.waiting.startIndex
            let wasSent = command.isRestored || wasHead && self.attempts > 0
            if command.isRestored { self.restoredCount -= 1 }
            if wasHead { self.beginAnew() }
            return (command, wasSent)
        }

        /// Forgets the head.
        mutating func beginAnew() {
            self.isUnderWay = false
            self.attempts = 0
            self.isSuspect = false
            self.requestID = nil
        }
    }

    /// The limits for new deliveries; deliveries that wait already may go on waiting.
    var limits: BufferLimits
    private var queues: [String: Queue] = [:]
    /// The ordering keys whose heads are not under way, so that a reply to one need not look at all others.
    private var ready: Deque<String> = []
    private var isReadySorted = true
    /// The deliveries that the store has not committed yet.
    private var uncommitted: [Command.ID: Command] = [:]
    /// Whether new commands wait for what an earlier process left and is not loaded yet.
    private var isHoldingNew = false
    private(set) var count = 0
    private(set) var byteCount = 0
    /// The number of deliveries that an earlier process left.
    private(set) var restoredCount = 0

    /// The ordering keys whose heads are suspected of having ended a link.
    ///
    /// They travel alone, one after the other, so that it is known which of them did.
    private var suspects: Deque<String> = []
    /// The number of heads that are under way.
    private var underWay = 0

    init(limits: BufferLimits) { self.limits = limits }

    /// Whether a head that is suspected of having ended a link travels alone, or is about to.
    var hasSuspects: Bool { !self.suspects.isEmpty }

    /// Whether some ordering key's head could be sent.
    var hasReady: Bool { !self.ready.isEmpty && (self.suspects.isEmpty || self.underWay == 0) }
}

// MARK: - In and out

extension DeliveryQueues {
    /// Adds a command at the end of its ordering key.
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - orderingKey: its ordering key.
    ///   - isCommitted: false when it is not to be sent before ``commit(_:orderingKey:)``.
    /// - Throws: `bufferFull`.
    mutating func append(
        _ command: Command, orderingKey: String, isCommitted: Bool = true
    ) throws(LinkspanError) {
        let hasRoom = self.count < self.limits.commands && self.byteCount + command.byteCount <= self.limits.bytes
        guard self.count == 0 || hasRoom else {
            throw LinkspanError(
                .bufferFull, "'\(command.event)' refused: \(self.count) deliveries are waiting", certainty: .notSent
            )
        }
        if !isCommitted { self.uncommitted[command.id] = command }
        self.queues[orderingKey, default: Queue()].waiting.append(command)
        self.added(command, orderingKey)
    }

    /// Adds a command that an earlier process left, behind others of these and before all new ones, whatever the limits
    /// say.
    mutating func restore(_ command: Command, orderingKey: String) {
        let place = self.queues[orderingKey]?.restoredCount ?? 0
        self.queues[orderingKey, default: Queue()].waiting.insert(command, at: place)
        self.queues[orderingKey]?.restoredCount += 1
        self.restoredCount += 1
        self.added(command, orderingKey)
    }

    private mutating func added(_ command: Command, _ orderingKey: String) {
        self.count += 1
        self.byteCount += command.byteCount
        self.makeReady(orderingKey)
    }

    /// Takes a command out, because it is done or given up.
    mutating func remove(_ id: Command.ID, orderingKey: String) -> (command: Command, wasSent: Bool)? {
        // In place: a copy of the ordering key would cost what waits in it.
        let wasUnderWay = self.queues[orderingKey]?.isUnderWay ?? false
        guard let removed = self.queues[orderingKey]?.remove(id) else { return nil }
        if wasUnderWay, self.queues[orderingKey]?.isUnderWay == false { self.underWay -= 1 }
        if self.queues[orderingKey]?.waiting.isEmpty == true { self.queues[orderingKey] = nil }
        self.count -= 1
        self.byteCount -= removed.command.byteCount
        self.uncommitted[id] = nil
        if removed.command.isRestored { self.restoredCount -= 1 }
        self.makeReady(orderingKey)
        return removed
    }

    /// Takes the commands out that are meant, in the order in which they were made.
    mutating func remove(where isMeant: (Command) -> Bool) -> [(command: Command, wasSent: Bool)] {
        var removed: [(command: Command, wasSent: Bool)] = []
        for (name, queue) in self.queues {
            for command in queue.waiting where isMeant(command) {
                if let entry = self.remove(command.id, orderingKey: name) { removed.append(entry) }
            }
        }
        return removed.sorted { $0.command.id < $1.command.id }
    }

    mutating func removeAll() -> [(command: Command, wasSent: Bool)] {
        defer {
            self.queues = [:]
            self.ready = []
            self.isReadySorted = true
            self.uncommitted = [:]
            self.suspects = []
            self.underWay = 0
            self.count = 0
            self.byteCount = 0
            self.restoredCount = 0
        }
        return self.all.map { ($0.command, $0.wasSent) }
    }

    /// Everything in the ordering keys, in the order in which it was made.
    var all: [(command: Command, isUnderWay: Bool, wasSent: Bool)] {
        self.queues.values
            .flatMap { queue in
                queue.waiting.enumerated().map { index, command in
                    let isHead = index == 0
                    return (command, isHead && queue.isUnderWay, command.isRestored || isHead && queue.attempts > 0)
                }
            }
            .sorted { $0.0.id < $1.0.id }
    }

    var ids: [Command.ID] { self.queues.values.flatMap { $0.waiting.map(\.id) } }
}

// MARK: - The store

extension DeliveryQueues {
    func isCommitted(_ id: Command.ID) -> Bool { self.uncommitted[id] == nil }

    /// The store has committed a command: from now on it may be sent.
    mutating func commit(_ id: Command.ID, orderingKey: String) -> Command? {
        guard let command = self.uncommitted.removeValue(forKey: id) else { return nil }
        self.makeReady(orderingKey)
        return command
    }

    /// The store knows a command by another key.
    mutating func rename(_ id: Command.ID, key: String, orderingKey: String) {
        guard let index = self.queues[orderingKey]?.waiting.firstIndex(where: { $0.id == id }) else { return }
        self.queues[orderingKey]?.waiting[index].key = key
    }

    /// New commands wait from now on for what an earlier process left.
    mutating func holdNew() { self.isHoldingNew = true }

    /// All that an earlier process left is here, or has ended.
    mutating func releaseNew() {
        self.isHoldingNew = false
        for name in self.queues.keys { self.makeReady(name) }
    }

    private func mayBeSent(_ command: Command) -> Bool {
        (command.isRestored || !self.isHoldingNew) && self.isCommitted(command.id)
    }
}

// MARK: - Under way

extension DeliveryQueues {
    /// The next head that is not under way, to be sent now: heads come in the order in which they were made.
    mutating func beginNext() -> Begun? {
        if let suspect = self.beginSuspect() { return suspect }
        guard self.suspects.isEmpty else { return nil }
        if !self.isReadySorted { self.sortReady() }
        while let name = self.ready.popFirst() {
            guard let head = self.queues[name]?.waiting.first, self.mayBeSent(head) else {
                self.queues[name]?.isReady = false
                continue
            }
            if let begun = self.begin(name) { return begun }
        }
        return nil
    }

    /// The next suspect, when nothing else is under way.
    private mutating func beginSuspect() -> Begun? {
        while let name = self.suspects.first {
            guard self.queues[name]?.isSuspect == true else {
                self.suspects.removeFirst()
                continue
            }
            guard self.underWay == 0 else { return nil }
            if let begun = self.begin(name) { return begun }
            // It has to wait for something else; its time to prove itself is later.
            self.suspects.removeFirst()
        }
        return nil
    }

    private mutating func begin(_ name: String) -> Begun? {
        guard let begun = self.queues[name]?.begin() else { return nil }
        self.underWay += 1
        return begun
    }

    private mutating func sortReady() {
        let heads = self.ready.compactMap { name in
            self.queues[name].flatMap { queue in queue.isReady ? queue.waiting.first.map { (name, $0.id) } : nil }
        }
        self.ready = Deque(heads.sorted { $0.1 < $1.1 }.map { $0.0 })
        self.isReadySorted = true
    }

    /// Notes under which number an ordering key's head is under way, and until when.
    mutating func note(requestID: UInt64, repeatAt: ContinuousClock.Instant, orderingKey: String) {
        self.queues[orderingKey]?.requestID = requestID
        self.queues[orderingKey]?.repeatAt = repeatAt
    }

    /// Whether an ordering key's head has waited long enough for its reply.
    func mayRepeat(orderingKey: String, now: ContinuousClock.Instant) -> Bool {
        self.queues[orderingKey]?.repeatAt.map { $0 <= now } ?? true
    }

    /// The number of times an ordering key's head was given to a link; nil when it is another command.
    func attempts(of id: Command.ID, orderingKey: String) -> Int? {
        guard let entry = self.queues[orderingKey], entry.waiting.first?.id == id else { return nil }
        return entry.attempts
    }

    /// Counts that the server has asked for the head to come later.
    ///
    /// - Returns: the head, with the count.
    mutating func noteRefusal(orderingKey: String) -> Command? {
        guard self.queues[orderingKey]?.waiting.isEmpty == false else { return nil }
        self.queues[orderingKey]?.waiting[0].noteRefusal()
        return self.queues[orderingKey]?.waiting.first
    }

    /// The head was not given to the link after all, and stays first.
    mutating func giveBack(orderingKey: String) {
        guard let entry = self.queues[orderingKey], entry.isUnderWay else { return }
        self.queues[orderingKey]?.attempts = entry.attempts - 1
        self.interrupt(orderingKey: orderingKey)
    }

    /// Takes out the heads that are not under way and were given to a link so often, in the order in which they were
    /// made.
    mutating func removeHeads(givenTimes limit: Int) -> [Command] {
        var removed: [Command] = []
        for (name, queue) in self.queues where !queue.isUnderWay && queue.attempts >= limit {
            guard let head = queue.waiting.first, self.remove(head.id, orderingKey: name) != nil else { continue }
            removed.append(head)
        }
        return removed.sorted { $0.id < $1.id }
    }

    /// The head is no longer under way, and stays first.
    mutating func interrupt(orderingKey: String) {
        if self.queues[orderingKey]?.isUnderWay == true { self.underWay -= 1 }
        self.queues[orderingKey]?.isUnderWay = false
        self.makeReady(orderingKey)
    }

    /// The link is gone: every head is to be sent again, under a number of the next link.
    ///
    /// - Parameters:
    ///   - isBlamed: whether the link ended because of a message.
    ///   - wasAlone: whether nothing else was given to the link beside a suspect.
    /// - Returns: the heads that are known to have ended two links; they are taken out.
    mutating func interruptAll(isBlamed: Bool, wasAlone: Bool) -> [Command] {
        var guilty: [(Command, String)] = []
        for (name, queue) in self.queues {
            self.queues[name]?.requestID = nil
            if isBlamed, queue.isUnderWay, let head = queue.waiting.first {
                if queue.isSuspect, wasAlone {
                    guilty.append((head, name))
                } else if !queue.isSuspect {
                    self.queues[name]?.isSuspect = true
                    self.suspects.append(name)
                }
            }
            self.interrupt(orderingKey: name)
        }
        return guilty.compactMap { self.remove($0.id, orderingKey: $1)?.command }
    }

    private mutating func makeReady(_ name: String) {
        guard let queue = self.queues[name], !queue.isReady, !queue.isUnderWay, let head = queue.waiting.first,
            self.mayBeSent(head)
        else { return }
        self.queues[name]?.isReady = true
        if !self.ready.isEmpty { self.isReadySorted = false }
        self.ready.append(name)
    }
}
