internal import HeapModule
internal import LinkspanRuntime

/// Deadlines of commands, earliest first.
///
/// Commands that end early stay until their time comes or until the queue is mostly made of them.
struct DeadlineQueue: Sendable {
    private struct Entry: Sendable, Comparable {
        let deadline: Moment
        let id: Command.ID

        static func < (left: Self, right: Self) -> Bool { left.deadline < right.deadline }
    }

    private var heap = Heap<Entry>()
    var earliest: Moment? { self.heap.min?.deadline }
    /// Whether ``earliest`` has become earlier since the owner last set this to false.
    var isEarlier = false

    var count: Int { self.heap.count }

    mutating func insert(_ id: Command.ID, at instant: Moment) {
        if self.earliest.map({ instant < $0 }) ?? true { self.isEarlier = true }
        self.heap.insert(Entry(deadline: instant, id: id))
    }

    /// Whether most deadlines may be those of commands that are gone.
    ///
    /// - Parameter living: how many commands there are at most that may have deadlines here.
    /// - Returns: whether it is worth looking.
    func isSparse(living: Int) -> Bool { self.count > 64 + 2 * living }

    /// Takes the earliest deadline that has passed.
    mutating func popExpired(now: Moment) -> Command.ID? {
        guard let earliest = self.earliest, earliest <= now else { return nil }
        return self.heap.popMin()?.id
    }

    /// Forgets every deadline whose command is gone.
    mutating func compact(keeping isAlive: (Command.ID) -> Bool) {
        self.heap = Heap(self.heap.unordered.filter { isAlive($0.id) })
    }
}

extension Optional<Moment> {
    /// The earlier of two deadlines, of which either may not exist.
    static func earliest(_ one: Self, _ other: Self) -> Self {
        guard let one, let other else { return one ?? other }
        return Swift.min(one, other)
    }
}
