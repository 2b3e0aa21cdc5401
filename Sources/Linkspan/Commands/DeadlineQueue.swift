/// Deadlines of commands, earliest first: a binary heap.
///
/// Commands that end early stay in the heap until their time comes or until the heap is mostly made of them.
struct DeadlineQueue: Sendable {
    struct Entry: Sendable {
        var instant: ContinuousClock.Instant
        var id: Command.ID
    }

    private var heap: [Entry] = []

    var earliest: ContinuousClock.Instant? { self.heap.first?.instant }
    var count: Int { self.heap.count }

    mutating func insert(_ id: Command.ID, at instant: ContinuousClock.Instant) {
        self.heap.append(Entry(instant: instant, id: id))
        var child = self.heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard self.heap[child].instant < self.heap[parent].instant else { return }
            self.heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Adds a deadline, after those of former commands were forgotten if most are.
    ///
    /// - Parameters:
    ///   - id: the command.
    ///   - instant: its deadline.
    ///   - living: how many commands there are at most that may have deadlines here.
    ///   - alive: those commands; asked for only when many deadlines have no command any more.
    mutating func insert(
        _ id: Command.ID, at instant: ContinuousClock.Instant, living: Int, alive: () -> Set<Command.ID>
    ) {
        if self.count > 64 + 4 * living {
            let alive = alive()
            self.compact { alive.contains($0) }
        }
        self.insert(id, at: instant)
    }

    /// Takes the earliest deadline that has passed.
    mutating func popExpired(now: ContinuousClock.Instant) -> Command.ID? {
        guard let first = self.heap.first, first.instant <= now else { return nil }
        self.heap.swapAt(0, self.heap.count - 1)
        self.heap.removeLast()
        self.siftDown(from: 0)
        return first.id
    }

    /// Forgets every deadline whose command is gone.
    mutating func compact(keeping isAlive: (Command.ID) -> Bool) {
        self.heap.removeAll { !isAlive($0.id) }
        for index in stride(from: self.heap.count / 2 - 1, through: 0, by: -1) { self.siftDown(from: index) }
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < self.heap.count {
                if self.heap[child].instant < self.heap[smallest].instant { smallest = child }
            }
            guard smallest != parent else { return }
            self.heap.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
