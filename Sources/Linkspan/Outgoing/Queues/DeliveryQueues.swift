private import HeapModule
internal import LinkspanRuntime

/// Commands that are repeated until they are answered.
///
/// Of one ordering key only the oldest is under way, so that its order holds with any server, whatever is lost. One that
/// a store has not committed yet keeps its place and is not sent, and what an earlier process left comes before all new.
struct DeliveryQueues {
    /// The head of an ordering key that is to be sent now.
    struct Begun {
        var command: Command
        /// Set when it has been sent over this link before: it is asked for again under the same number.
        var requestID: UInt64?
    }

    /// An ordering key, and what is known of its head.
    private struct OrderingKey: SlabElement {
        var name = ""
        var list = CommandLists.List()
        /// The last of those that an earlier process left, which come first.
        var lastRestored = CommandLists.none
        var isUnderWay = false
        /// The number of times the head was given to a link, be it this one or an earlier one.
        var attempts: Int32 = 0
        /// The head for which it is in ``DeliveryQueues/ready``.
        var ready = Command.ID.none
        /// The head's number on this link.
        var requestID: UInt64?
        /// The instant at which the head is to be sent again over this link.
        var repeatAt: Moment?

        /// Forgets the head.
        mutating func forgetHead() {
            self.isUnderWay = false
            self.attempts = 0
            self.requestID = nil
        }
    }

    /// A head that is not under way.
    private struct Ready: Comparable {
        let head: Command.ID
        let key: Slab<OrderingKey>.Place

        static func < (left: Self, right: Self) -> Bool { left.head < right.head }
    }

    /// The commands of all ordering keys; those that the store has not committed yet are marked.
    private var commands = CommandLists()
    private var keys = Slab<OrderingKey>()
    /// The ordering keys by name.
    private var names: [String: Slab<OrderingKey>.Place] = [:]
    /// The heads that are not under way, the oldest first, so that a reply to one need not look at all others; some are
    /// out of date.
    private var ready = Heap<Ready>()
    /// Whether these have taken memory that is worth giving back.
    private var hasGrown = false
    /// Whether new commands wait for what an earlier process left and is not loaded yet.
    private var isHoldingNew = false
    private(set) var byteCount = 0
    /// The number of deliveries that an earlier process left, and their bytes.
    private(set) var restoredCount = 0
    private(set) var restoredByteCount = 0
    private var poison = PoisonDetector()

    var count: Int { self.commands.count }

    /// Whether some ordering key's head could be sent.
    var hasReady: Bool { !self.ready.isEmpty }

    /// Whether everything else waits for deliveries that may have ended the last link, which are sent alone.
    var isIsolating: Bool { self.poison.isActive }

    /// The delivery that is under way alone.
    var isolated: Command.ID? { self.poison.isolated }
}

// MARK: - Ordering keys

extension DeliveryQueues {
    private typealias Place = Slab<OrderingKey>.Place

    /// The ordering key of a command, if the command is its head.
    private func orderingKey(ofHead id: Command.ID) -> Place? {
        guard let place = self.commands.find(id) else { return nil }
        let key = self.commands.owner(of: place)
        return self.keys[key].list.first == place ? key : nil
    }

    private mutating func addKey(_ name: String) -> Place {
        if let key = self.names[name] { return key }
        let key = self.keys.insert(OrderingKey(name: name))
        self.names[name] = key
        return key
    }

    private mutating func removeKey(_ key: Place) {
        self.names[self.keys.remove(key).name] = nil
        self.names.trim()
    }
}

// MARK: - In and out

extension DeliveryQueues {
    /// Adds a command at the end of its ordering key.
    ///
    /// - Parameters:
    ///   - command: the command.
    ///   - orderingKey: its ordering key.
    ///   - limits: the limits for new deliveries; deliveries that wait already may go on waiting.
    ///   - isCommitted: false when it is not to be sent before ``commit(_:)``.
    /// - Throws: `bufferFull`.
    mutating func append(
        _ command: Command, orderingKey: String, within limits: BufferLimits, isCommitted: Bool = true
    ) throws(LinkspanError) {
        let hasRoom = self.count < limits.commands && self.byteCount + command.byteCount <= limits.bytes
        guard self.count == 0 || hasRoom else {
            throw LinkspanError(
                .bufferFull, "'\(command.event)' refused: \(self.count) deliveries are waiting", certainty: .notSent
            )
        }
        let key = self.addKey(orderingKey)
        self.insert(command, behind: self.keys[key].list.last, in: key, isCommitted: isCommitted)
    }

    /// Adds a command that an earlier process left, behind others of these and before all new ones, whatever the limits
    /// say.
    mutating func restore(_ command: Command, orderingKey: String) {
        let key = self.addKey(orderingKey)
        var previous = self.keys[key].lastRestored
        // A new one that has been given to a link has its place already.
        if previous == CommandLists.none, self.keys[key].attempts > 0 { previous = self.keys[key].list.first }
        self.restoredCount += 1
        self.restoredByteCount += command.byteCount
        self.keys[key].lastRestored = self.insert(command, behind: previous, in: key, isCommitted: true)
    }

    @discardableResult
    private mutating func insert(
        _ command: Command, behind previous: CommandLists.Place, in key: Place, isCommitted: Bool
    ) -> CommandLists.Place {
        let place = self.commands.insert(command, behind: previous, in: &self.keys[key].list, owner: key)
        if !isCommitted { self.commands.mark(place, true) }
        self.byteCount += command.byteCount
        self.makeReady(key)
        return place
    }

    /// Takes a command out, because it is done or given up.
    mutating func remove(_ id: Command.ID) -> (command: Command, wasSent: Bool)? {
        guard let place = self.commands.find(id) else { return nil }
        let key = self.commands.owner(of: place)
        let wasHead = self.keys[key].list.first == place
        let previous = self.commands.previous(place)
        let isCommitted = !self.commands.isMarked(place)
        guard var command = self.commands.remove(place, from: &self.keys[key].list) else { return nil }
        if !isCommitted { command.isUnkept = true }
        let wasSent = command.isRestored || wasHead && self.keys[key].attempts > 0
        if self.keys[key].lastRestored == place {
            let isRestored = self.commands.command(at: previous)?.isRestored == true
            self.keys[key].lastRestored = isRestored ? previous : CommandLists.none
        }
        if wasHead {
            self.keys[key].forgetHead()
            self.poison.remove(id)
        }
        self.byteCount -= command.byteCount
        if command.isRestored {
            self.restoredCount -= 1
            self.restoredByteCount -= command.byteCount
        }
        if self.keys[key].list.isEmpty { self.removeKey(key) } else { self.makeReady(key) }
        if self.count == 0, self.hasGrown || !self.ready.isEmpty { (self.ready, self.hasGrown) = (Heap(), false) }
        return (command, wasSent)
    }

    mutating func removeAll() -> [(command: Command, wasSent: Bool)] {
        defer { self.forgetAll() }
        return self.all.map { ($0.command, $0.wasSent) }
    }

    private mutating func forgetAll() {
        self.commands.removeAll()
        self.keys.removeAll()
        self.names = [:]
        (self.ready, self.hasGrown, self.poison) = (Heap(), false, PoisonDetector())
        (self.byteCount, self.restoredCount, self.restoredByteCount) = (0, 0, 0)
    }

    /// The oldest of each ordering key, when there are few enough keys to look at each.
    var heads: [Command.ID] {
        self.count <= 4_096 ? self.keys.all.compactMap { self.commands.id(at: $0.list.first) } : []
    }

    /// Everything in the ordering keys, in the order in which it was made.
    var all: [(command: Command, isUnderWay: Bool, wasSent: Bool)] {
        var all: [(command: Command, isUnderWay: Bool, wasSent: Bool)] = []
        for key in self.keys.all where !key.list.isEmpty {
            for (index, command) in self.commands.all(key.list).enumerated() {
                let isHead = index == 0
                all.append((command, isHead && key.isUnderWay, command.isRestored || isHead && key.attempts > 0))
            }
        }
        return all.sorted { $0.command.id < $1.command.id }
    }

    func contains(_ id: Command.ID) -> Bool { self.commands.find(id) != nil }
}

// MARK: - The store

extension DeliveryQueues {
    /// Whether a command has been committed, or is not here any more.
    func isCommitted(_ id: Command.ID) -> Bool { !(self.commands.find(id).map { self.commands.isMarked($0) } ?? false) }

    /// The store has committed a command: from now on it may be sent.
    mutating func commit(_ id: Command.ID) -> Command? {
        guard let place = self.commands.find(id), self.commands.isMarked(place) else { return nil }
        self.commands.mark(place, false)
        self.makeReady(self.commands.owner(of: place))
        return self.commands.command(at: place)
    }

    /// The store knows a command by another key.
    mutating func rename(_ id: Command.ID, key: String) {
        if let place = self.commands.find(id) { self.commands.change(place) { $0.key = key } }
    }

    /// Whether nothing may be sent, although there is room for more of what an earlier process left.
    func isBlocked(within limits: BufferLimits) -> Bool {
        !self.hasReady && self.restoredCount < limits.commands && self.restoredByteCount < limits.bytes
    }

    /// New commands wait from now on for what an earlier process left.
    mutating func holdNew() { self.isHoldingNew = true }

    /// All that an earlier process left is here, or has ended.
    mutating func releaseNew() {
        self.isHoldingNew = false
        for key in self.keys.places { self.makeReady(key) }
    }

    private func mayBeSent(_ command: Command, at place: CommandLists.Place) -> Bool {
        (command.isRestored || !self.isHoldingNew) && !self.commands.isMarked(place)
    }
}

// MARK: - Under way

extension DeliveryQueues {
    /// The next head that is not under way, to be sent now: heads come in the order in which they were made.
    mutating func beginNext() -> Begun? {
        while let next = self.ready.popMin() {
            guard self.keys[next.key].ready == next.head else { continue }
            if let begun = self.begin(next.key) { return begun }
        }
        return nil
    }

    /// Notes that a head is given to a link; nil when there is none to give.
    private mutating func begin(_ key: Place) -> Begun? {
        let ready = self.keys[key].ready
        self.keys[key].ready = .none
        let place = self.keys[key].list.first
        guard let head = self.commands.command(at: place), head.id == ready, !self.keys[key].isUnderWay,
            self.mayBeSent(head, at: place)
        else { return nil }
        self.keys[key].isUnderWay = true
        self.keys[key].attempts += 1
        return Begun(command: head, requestID: self.keys[key].requestID)
    }

    /// Records the number and the deadline of a head that is under way.
    mutating func note(requestID: UInt64, repeatAt: Moment, of id: Command.ID) {
        guard let key = self.orderingKey(ofHead: id) else { return }
        self.keys[key].requestID = requestID
        self.keys[key].repeatAt = repeatAt
    }

    /// Whether a head has waited long enough for its reply.
    func mayRepeat(_ id: Command.ID, now: Moment) -> Bool {
        self.orderingKey(ofHead: id).flatMap { self.keys[$0].repeatAt }.map { $0 <= now } ?? true
    }

    /// The number of times a head was given to a link; nil when the command is no head.
    func attempts(of id: Command.ID) -> Int? { self.orderingKey(ofHead: id).map { Int(self.keys[$0].attempts) } }

    /// Counts that the server has asked for a head to come later.
    ///
    /// - Returns: the head, with the count.
    mutating func noteRefusal(of id: Command.ID) -> Command? {
        guard let place = self.commands.find(id) else { return nil }
        self.commands.change(place) { $0.noteRefusal() }
        return self.commands.command(at: place)
    }

    /// A head was not given to the link after all, and stays first.
    mutating func giveBack(_ id: Command.ID) {
        guard let key = self.orderingKey(ofHead: id), self.keys[key].isUnderWay else { return }
        self.keys[key].attempts -= 1
        self.poison.giveBack(id)
        self.interrupt(key)
    }

    /// Takes out the heads that are not under way and were given to a link so often, the oldest first.
    mutating func removeHeads(givenTimes limit: Int) -> [Command] {
        let heads = self.keys.all.compactMap { key in
            key.isUnderWay || key.attempts < limit ? nil : self.commands.id(at: key.list.first)
        }
        return heads.sorted { $0 < $1 }.compactMap { self.remove($0)?.command }
    }

    /// A head is no longer under way, and stays first.
    mutating func interrupt(_ id: Command.ID) { if let key = self.orderingKey(ofHead: id) { self.interrupt(key) } }

    private mutating func interrupt(_ key: Place) {
        self.keys[key].isUnderWay = false
        self.makeReady(key)
    }

    /// The link is gone: every head is to be sent again, under a number of the next link.
    ///
    /// - Parameter isBlamed: whether the link ended because of a message.
    /// - Returns: the head that is known to have ended two links; it is taken out.
    mutating func interruptAll(isBlamed: Bool) -> Command? {
        var underWay: [Command.ID] = []
        for key in self.keys.places {
            guard let head = self.commands.id(at: self.keys[key].list.first) else { continue }
            self.keys[key].requestID = nil
            if self.keys[key].isUnderWay { underWay.append(head) }
            self.interrupt(key)
        }
        guard isBlamed else {
            // Such an end proves nothing, and a window of one over each of many such links would stop the rest.
            self.poison = PoisonDetector()
            return nil
        }
        return self.poison.linkEnded(underWay).flatMap { self.remove($0)?.command }
    }

    private mutating func makeReady(_ key: Place) {
        let place = self.keys[key].list.first
        guard let head = self.commands.command(at: place), self.keys[key].ready != head.id,
            !self.keys[key].isUnderWay, self.mayBeSent(head, at: place)
        else { return }
        self.keys[key].ready = head.id
        self.ready.insert(Ready(head: head.id, key: key))
        guard self.ready.count > 64 else { return }
        self.hasGrown = true
        guard self.ready.count > 64 + 2 * self.keys.count else { return }
        // Most are heads that went without being sent.
        let keys = self.keys
        self.ready = Heap(self.ready.unordered.filter { keys[$0.key].ready == $0.head })
    }
}

// MARK: - A window of one

extension DeliveryQueues {
    /// A new link is up, and nothing has been given to it.
    ///
    /// - Returns: whether deliveries that may have ended the last one go first, each alone.
    mutating func beginIsolation() -> Bool {
        self.poison.linkOpened()
        return self.isIsolating
    }

    /// The next delivery that is to be sent alone; nil when one is under way, and when nothing waits for these any longer.
    mutating func beginIsolated() -> Begun? {
        guard self.isolated == nil else { return nil }
        for head in self.poison.ids {
            guard let key = self.orderingKey(ofHead: head), let begun = self.begin(key) else { continue }
            self.poison.isolate(head)
            return begun
        }
        self.poison.stop()
        return nil
    }

    /// A reply was given to the link, which may end because of it.
    mutating func noteReply() { self.poison.noteReply() }

    /// The server has answered a head, or no link can carry it.
    mutating func clear(_ id: Command.ID) { self.poison.clear(id) }

    /// Everything is sent from now on.
    mutating func endIsolation() { self.poison.timeIsOver() }
}
