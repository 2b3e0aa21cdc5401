internal import HeapModule

/// Deadlines of commands, earliest first.
///
/// Commands that end early stay until their time comes or until the queue is mostly made of them.
struct DeadlineQueue: Sendable {
    private struct Entry: Sendable, Comparable {
        let instant: ContinuousClock.Instant
        let id: Command.ID

        static func < (left: Self, right: Self) -> Bool { left.instant < right.instant }
    }

    private var heap = Heap<Entry>()

    var earliest: ContinuousClock.Instant? { self.heap.min?.instant }
    var count: Int { self.heap.count }

    mutating func insert(_ id: Command.ID, at instant: ContinuousClock.Instant) {
        self.heap.insert(Entry(instant: instant, id: id))
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
        guard let earliest = self.earliest, earliest <= now else { return nil }
        return self.heap.removeMin().id
    }

    /// Forgets every deadline whose command is gone.
    mutating func compact(keeping isAlive: (Command.ID) -> Bool) {
        self.heap = Heap(self.heap.unordered.filter { isAlive($0.id) })
    }
}
