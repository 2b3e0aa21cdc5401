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
    private struct Lane: SlabElement {
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
        mutating func beginAnew() {
            self.isUnderWay = false
            self.attempts = 0
            self.requestID = nil
        }
    }

    /// A head that is not under way.
    private struct Ready: Comparable {
        let head: Command.ID
        let lane: Slab<Lane>.Place

        static func < (left: Self, right: Self) -> Bool { left.head < right.head }
    }

    /// The commands of all ordering keys; those that the store has not committed yet are marked.
    private var commands = CommandLists()
    private var lanes = Slab<Lane>()
    /// The ordering keys by name.
    private var names = PlaceIndex()
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
    private var suspects = Suspects()

    var count: Int { self.commands.count }

    /// Whether some ordering key's head could be sent.
    var hasReady: Bool { !self.ready.isEmpty }

    /// Whether everything else waits for trials of suspects.
    var isTrying: Bool { self.suspects.isTrying }

    /// The suspect that is under way alone.
    var tried: Command.ID? { self.suspects.tried }
}

// MARK: - Ordering keys

extension DeliveryQueues {
    private typealias Place = Slab<Lane>.Place

    private func find(_ name: String) -> Place? {
        self.names.find(PlaceIndex.hash(name)) { self.lanes[$0].name == name }
    }

    /// The ordering key of a command, if the command is its head.
    private func lane(ofHead id: Command.ID) -> Place? {
        guard let place = self.commands.find(id) else { return nil }
        let lane = self.commands.owner(of: place)
        return self.lanes[lane].list.first == place ? lane : nil
    }

    private mutating func addLane(_ name: String) -> Place {
        if let lane = self.find(name) { return lane }
        let lane = self.lanes.insert(Lane(name: name))
        let lanes = self.lanes
        self.names.insert(lane, PlaceIndex.hash(name)) { PlaceIndex.hash(lanes[$0].name) }
        return lane
    }

    private mutating func removeLane(_ lane: Place) {
        self.forgetName(of: lane)
        _ = self.lanes.remove(lane)
    }

    // On its own: no copy of the slab may be alive while it is changed.
    private mutating func forgetName(of lane: Place) {
        let lanes = self.lanes
        _ = self.names.remove(
            PlaceIndex.hash(lanes[lane].name), hashOf: { PlaceIndex.hash(lanes[$0].name) }, where: { $0 == lane })
    }

    private func head(of lane: Place) -> Command? { self.commands.command(at: self.lanes[lane].list.first) }
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
        let lane = self.addLane(orderingKey)
        self.insert(command, behind: self.lanes[lane].list.last, in: lane, isCommitted: isCommitted)
    }

    /// Adds a command that an earlier process left, behind others of these and before all new ones, whatever the limits
    /// say.
    mutating func restore(_ command: Command, orderingKey: String) {
        let lane = self.addLane(orderingKey)
        var previous = self.lanes[lane].lastRestored
        // A new one that has been given to a link has its place already.
        if previous == CommandLists.none, self.lanes[lane].attempts > 0 { previous = self.lanes[lane].list.first }
        self.restoredCount += 1
        self.restoredByteCount += command.byteCount
        self.lanes[lane].lastRestored = self.insert(command, behind: previous, in: lane, isCommitted: true)
    }

    @discardableResult
    private mutating func insert(
        _ command: Command, behind previous: CommandLists.Place, in lane: Place, isCommitted: Bool
    ) -> CommandLists.Place {
        let place = self.commands.insert(command, behind: previous, in: &self.lanes[lane].list, owner: lane)
        if !isCommitted { self.commands.mark(place, true) }
        self.byteCount += command.byteCount
        self.makeReady(lane)
        return place
    }

    /// Takes a command out, because it is done or given up.
    mutating func remove(_ id: Command.ID) -> (command: Command, wasSent: Bool)? {
        guard let place = self.commands.find(id) else { return nil }
        let lane = self.commands.owner(of: place)
        let wasHead = self.lanes[lane].list.first == place
        let previous = self.commands.previous(place)
        let isCommitted = !self.commands.isMarked(place)
        guard var command = self.commands.remove(place, from: &self.lanes[lane].list) else { return nil }
        if !isCommitted { command.isUnkept = true }
        let wasSent = command.isRestored || wasHead && self.lanes[lane].attempts > 0
        if self.lanes[lane].lastRestored == place {
            let isRestored = self.commands.command(at: previous)?.isRestored == true
            self.lanes[lane].lastRestored = isRestored ? previous : CommandLists.none
        }
        if wasHead {
            self.lanes[lane].beginAnew()
            self.suspects.remove(id)
        }
        self.byteCount -= command.byteCount
        if command.isRestored {
            self.restoredCount -= 1
            self.restoredByteCount -= command.byteCount
        }
        if self.lanes[lane].list.isEmpty { self.removeLane(lane) } else { self.makeReady(lane) }
        if self.count == 0, self.hasGrown || !self.ready.isEmpty { (self.ready, self.hasGrown) = (Heap(), false) }
        return (command, wasSent)
    }

    mutating func removeAll() -> [(command: Command, wasSent: Bool)] {
        defer { self.forgetAll() }
        return self.all.map { ($0.command, $0.wasSent) }
    }

    private mutating func forgetAll() {
        self.commands.removeAll()
        self.lanes.removeAll()
        self.names.removeAll()
        (self.ready, self.hasGrown, self.suspects) = (Heap(), false, Suspects())
        (self.byteCount, self.restoredCount, self.restoredByteCount) = (0, 0, 0)
    }

    /// The oldest of each ordering key, when there are few enough keys to look at each.
    var heads: [Command.ID] {
        self.count <= 4_096 ? self.lanes.all.compactMap { self.commands.id(at: $0.list.first) } : []
    }

    /// Everything in the ordering keys, in the order in which it was made.
    var all: [(command: Command, isUnderWay: Bool, wasSent: Bool)] {
        var all: [(command: Command, isUnderWay: Bool, wasSent: Bool)] = []
        for lane in self.lanes.all where !lane.list.isEmpty {
            for (index, command) in self.commands.all(lane.list).enumerated() {
                let isHead = index == 0
                all.append((command, isHead && lane.isUnderWay, command.isRestored || isHead && lane.attempts > 0))
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
        for lane in self.lanes.places { self.makeReady(lane) }
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
            guard self.lanes[next.lane].ready == next.head else { continue }
            if let begun = self.begin(next.lane) { return begun }
        }
        return nil
    }

    /// Notes that a head is given to a link; nil when there is none to give.
    private mutating func begin(_ lane: Place) -> Begun? {
        let ready = self.lanes[lane].ready
        self.lanes[lane].ready = .none
        let place = self.lanes[lane].list.first
        guard let head = self.commands.command(at: place), head.id == ready, !self.lanes[lane].isUnderWay,
            self.mayBeSent(head, at: place)
        else { return nil }
        self.lanes[lane].isUnderWay = true
        self.lanes[lane].attempts += 1
        return Begun(command: head, requestID: self.lanes[lane].requestID)
    }

    /// Records the number and the deadline of a head that is under way.
    mutating func note(requestID: UInt64, repeatAt: Moment, of id: Command.ID) {
        guard let lane = self.lane(ofHead: id) else { return }
        self.lanes[lane].requestID = requestID
        self.lanes[lane].repeatAt = repeatAt
    }

    /// Whether a head has waited long enough for its reply.
    func mayRepeat(_ id: Command.ID, now: Moment) -> Bool {
        self.lane(ofHead: id).flatMap { self.lanes[$0].repeatAt }.map { $0 <= now } ?? true
    }

    /// The number of times a head was given to a link; nil when the command is no head.
    func attempts(of id: Command.ID) -> Int? { self.lane(ofHead: id).map { Int(self.lanes[$0].attempts) } }

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
        guard let lane = self.lane(ofHead: id), self.lanes[lane].isUnderWay else { return }
        self.lanes[lane].attempts -= 1
        self.suspects.giveBack(id)
        self.interrupt(lane)
    }

    /// Takes out the heads that are not under way and were given to a link so often, the oldest first.
    mutating func removeHeads(givenTimes limit: Int) -> [Command] {
        let heads = self.lanes.all.compactMap { lane in
            lane.isUnderWay || lane.attempts < limit ? nil : self.commands.id(at: lane.list.first)
        }
        return heads.sorted { $0 < $1 }.compactMap { self.remove($0)?.command }
    }

    /// A head is no longer under way, and stays first.
    mutating func interrupt(_ id: Command.ID) { if let lane = self.lane(ofHead: id) { self.interrupt(lane) } }

    private mutating func interrupt(_ lane: Place) {
        self.lanes[lane].isUnderWay = false
        self.makeReady(lane)
    }

    /// The link is gone: every head is to be sent again, under a number of the next link.
    ///
    /// - Parameter isBlamed: whether the link ended because of a message.
    /// - Returns: the head that is known to have ended two links; it is taken out.
    mutating func interruptAll(isBlamed: Bool) -> Command? {
        let guilty = isBlamed ? self.suspects.convict() : nil
        // A link that ended in another way proves nothing, and trials over each of many such links would stop the rest.
        if !isBlamed { self.suspects = Suspects() }
        for lane in self.lanes.places {
            guard let head = self.commands.id(at: self.lanes[lane].list.first) else { continue }
            self.lanes[lane].requestID = nil
            if isBlamed, guilty == nil, self.lanes[lane].isUnderWay { self.suspects.add(head) }
            self.interrupt(lane)
        }
        return guilty.flatMap { self.remove($0)?.command }
    }

    private mutating func makeReady(_ lane: Place) {
        let place = self.lanes[lane].list.first
        guard let head = self.commands.command(at: place), self.lanes[lane].ready != head.id,
            !self.lanes[lane].isUnderWay, self.mayBeSent(head, at: place)
        else { return }
        self.lanes[lane].ready = head.id
        self.ready.insert(Ready(head: head.id, lane: lane))
        guard self.ready.count > 64 else { return }
        self.hasGrown = true
        guard self.ready.count > 64 + 2 * self.lanes.count else { return }
        // Most are heads that went without being sent.
        let lanes = self.lanes
        self.ready = Heap(self.ready.unordered.filter { lanes[$0.lane].ready == $0.head })
    }
}

// MARK: - Trials

extension DeliveryQueues {
    /// A new link is up, and nothing has been given to it.
    ///
    /// - Returns: whether there are suspects, which go first.
    mutating func beginTrials() -> Bool {
        self.suspects.beginTrials()
        return self.isTrying
    }

    /// The next suspect, to be sent now; nil when one is under way, and when nothing waits for trials any longer.
    mutating func beginTrial() -> Begun? {
        guard self.tried == nil else { return nil }
        for head in self.suspects.all {
            guard let lane = self.lane(ofHead: head), let begun = self.begin(lane) else { continue }
            self.suspects.beginTrial(of: head)
            return begun
        }
        self.suspects.stop()
        return nil
    }

    /// A reply was given to the link, which may end because of it.
    mutating func noteReply() { self.suspects.noteReply() }

    /// The server has answered a head, or no link can carry it.
    mutating func acquit(_ id: Command.ID) { self.suspects.acquit(id) }

    /// The time of the trials is over.
    mutating func endTrials() { self.suspects.endTrials() }
}
