internal import DequeModule

/// Commands that are repeated until they are answered.
///
/// In a lane only the oldest is under way, so that its order holds with any server, whatever is lost.
struct DeliveryLanes: Sendable {
    private struct Lane {
        var waiting: Deque<Command> = []
        var underWay: Bool = false
        /// Whether the head has been given to a link, be it this one or an earlier one.
        var headWasSent: Bool = false
    }

    private let limits: BufferLimits
    private var lanes: [String: Lane] = [:]
    private(set) var count = 0
    private(set) var byteCount = 0

    init(limits: BufferLimits) { self.limits = limits }

    /// Adds a command at the end of its lane.
    mutating func append(_ command: Command, lane: String) throws(LinkspanError) {
        let hasRoom = self.count < self.limits.commands && self.byteCount + command.byteCount <= self.limits.bytes
        guard self.count == 0 || hasRoom else {
            throw LinkspanError(
                .bufferFull, "'\(command.event)' was refused: \(self.count) deliveries are waiting", certainty: .notSent
            )
        }
        self.lanes[lane, default: Lane()].waiting.append(command)
        self.count += 1
        self.byteCount += command.byteCount
    }

    /// The head of the lane, to be sent now, unless it is already under way.
    mutating func begin(lane: String) -> Command? {
        guard var entry = self.lanes[lane], !entry.underWay, let head = entry.waiting.first else { return nil }
        entry.underWay = true
        entry.headWasSent = true
        self.lanes[lane] = entry
        return head
    }

    /// The heads of all lanes that are not under way, in the order in which they were made.
    mutating func beginAll() -> [Command] {
        self.lanes.keys.compactMap { self.begin(lane: $0) }.sorted { $0.id < $1.id }
    }

    /// The head is no longer under way, and stays first.
    mutating func interrupt(lane: String) { self.lanes[lane]?.underWay = false }

    mutating func interruptAll() {
        for lane in self.lanes.keys { self.lanes[lane]?.underWay = false }
    }

    /// Takes a command out, because it is done or given up.
    mutating func remove(_ id: Command.ID, lane: String) -> (command: Command, wasSent: Bool)? {
        guard var entry = self.lanes[lane], let index = entry.waiting.firstIndex(where: { $0.id == id }) else {
            return nil
        }
        let command = entry.waiting.remove(at: index)
        let wasSent = index == entry.waiting.startIndex && entry.headWasSent
        if index == entry.waiting.startIndex {
            entry.underWay = false
            entry.headWasSent = false
        }
        self.lanes[lane] = entry.waiting.isEmpty ? nil : entry
        self.count -= 1
        self.byteCount -= command.byteCount
        return (command, wasSent)
    }

    /// Takes a command out of whichever lane it is in.
    mutating func remove(_ id: Command.ID) -> (command: Command, wasSent: Bool)? {
        guard let lane = self.lanes.first(where: { $0.value.waiting.contains { $0.id == id } })?.key else { return nil }
        return self.remove(id, lane: lane)
    }

    var ids: [Command.ID] { self.lanes.values.flatMap { $0.waiting.map(\.id) } }

    mutating func removeAll() -> [(command: Command, wasSent: Bool)] {
        defer {
            self.lanes = [:]
            self.count = 0
            self.byteCount = 0
        }
        return self.lanes.values
            .flatMap { lane in lane.waiting.enumerated().map { ($1, $0 == 0 && lane.headWasSent) } }
            .sorted { $0.0.id < $1.0.id }
    }
}
