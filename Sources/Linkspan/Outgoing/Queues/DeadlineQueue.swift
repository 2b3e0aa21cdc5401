internal import HeapModule
internal import LinkspanRuntime

/// Deadlines of commands, earliest first.
///
/// Commands that end early stay until their time comes or until the queue is mostly made of them.
struct DeadlineQueue: Sendable {
    private struct Entry: Sendable, Comparable {
        /// Nanoseconds after the base.
        let deadline: Int64
        let id: Command.ID

        static func < (left: Self, right: Self) -> Bool { left.deadline < right.deadline }
    }

    private var heap = Heap<Entry>()
    /// The moment from which deadlines are reckoned: two numbers of a moment would take twice the memory.
    private var base: Moment?
    private(set) var earliest: Moment?
    /// Whether ``earliest`` has become earlier since the owner last set this to false.
    var isEarlier = false

    var count: Int { self.heap.count }

    mutating func insert(_ id: Command.ID, at instant: Moment) {
        let base = self.base ?? instant
        self.base = base
        self.heap.insert(Entry(deadline: base.duration(to: instant).nanosecondsRoundedUp, id: id))
        guard self.earliest.map({ instant < $0 }) ?? true else { return }
        self.earliest = instant
        self.isEarlier = true
    }

    /// Whether most deadlines may be those of commands that are gone.
    ///
    /// - Parameter living: how many commands there are at most that may have deadlines here.
    /// - Returns: whether it is worth looking.
    func isSparse(living: Int) -> Bool { self.count > 64 + 2 * living }

    /// Takes the earliest deadline that has passed.
    mutating func popExpired(now: Moment) -> Command.ID? {
        guard let earliest = self.earliest, earliest <= now, let first = self.heap.popMin() else { return nil }
        self.lookForEarliest()
        return first.id
    }

    /// Forgets every deadline whose command is gone.
    mutating func compact(keeping isAlive: (Command.ID) -> Bool) {
        self.heap = Heap(self.heap.unordered.filter { isAlive($0.id) })
        self.lookForEarliest()
    }

    private mutating func lookForEarliest() {
        guard let base = self.base, let first = self.heap.min else {
            self = Self()
            return
        }
        self.earliest = base + .nanoseconds(first.deadline)
    }
}

extension Duration {
    /// Whole nanoseconds, not less than it is; the largest number for those beyond.
    fileprivate var nanosecondsRoundedUp: Int64 {
        let (seconds, attoseconds) = self.components
        let (whole, isBeyond) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let part = attoseconds / 1_000_000_000 + (attoseconds % 1_000_000_000 > 0 ? 1 : 0)
        let (sum, isFurther) = whole.addingReportingOverflow(part)
        return isBeyond || isFurther ? (seconds < 0 ? .min : .max) : sum
    }
}

extension Optional<Moment> {
    /// The earlier of two deadlines, of which either may not exist.
    static func earliest(_ one: Self, _ other: Self) -> Self {
        guard let one, let other else { return one ?? other }
        return Swift.min(one, other)
    }
}
