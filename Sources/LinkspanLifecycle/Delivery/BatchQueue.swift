internal import DequeModule

/// Batches that wait, and how many events are left in them.
struct BatchQueue: Sendable {
    private var batches: Deque<EventBatch> = []
    private(set) var count = 0

    var first: EventBatch? { self.batches.first }

    /// The number of the oldest event.
    var seq: UInt64 { self.batches.first?.seq ?? .max }

    /// The number of events that happened, of which some may be added up.
    var total: Int { self.batches.reduce(0) { $0 + $1.total } }

    mutating func append(_ batch: EventBatch) {
        self.batches.append(batch)
        self.count += batch.count
    }

    mutating func prepend(_ batch: EventBatch) {
        self.batches.prepend(batch)
        self.count += batch.count
    }

    mutating func popFirst() -> Stamped<any LifecycleEvent>? {
        guard !self.batches.isEmpty, let stamped = self.batches[0].popFirst() else { return nil }
        self.took(1)
        return stamped
    }

    /// Drops events of the first batch, which has so many.
    mutating func drop(_ count: Int) {
        self.batches[0].drop(count)
        self.took(count)
    }

    /// Takes events of the first batch out; see ``EventBatch/split(_:before:)``.
    mutating func split(_ count: Int, before limit: UInt64) -> EventBatch? {
        guard !self.batches.isEmpty else { return nil }
        let run = self.batches[0].split(count, before: limit)
        self.took(run.count)
        return run
    }

    private mutating func took(_ count: Int) {
        self.count -= count
        if self.batches[0].count == 0 { self.batches.removeFirst() }
    }

    /// Marks everything that waits as having happened before the receiver was ready.
    mutating func markReplayed() { for index in self.batches.indices { self.batches[index].isReplayed = true } }
}
