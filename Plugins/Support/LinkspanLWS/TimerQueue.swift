/// Timers by the time they are due, and in the order they were added where that is the same.
///
/// A binary heap. Cancelled timers stay until they are due or until they are more than half of a grown queue.
struct TimerQueue: Sendable {
    private struct Entry: Sendable {
        let due: ContinuousClock.Instant
        let number: UInt64
        let timer: LoopTimer

        func isBefore(_ other: Entry) -> Bool {
            self.due == other.due ? self.number < other.number : self.due < other.due
        }
    }

    private var heap: [Entry] = []
    private var nextNumber: UInt64 = 0
    private var compactAt = 64

    var isEmpty: Bool { self.heap.isEmpty }
    var count: Int { self.heap.count }
    var earliest: ContinuousClock.Instant? { self.heap.first?.due }

    mutating func add(_ timer: LoopTimer, due: ContinuousClock.Instant) {
        if self.heap.count >= self.compactAt { self.compact() }
        self.heap.append(Entry(due: due, number: self.nextNumber, timer: timer))
        self.nextNumber += 1
        self.rise(from: self.heap.count - 1)
    }

    /// Removes the first timer that is due.
    mutating func removeDue(_ now: ContinuousClock.Instant) -> LoopTimer? {
        guard let first = self.heap.first, first.due <= now, let last = self.heap.popLast() else { return nil }
        if !self.heap.isEmpty {
            self.heap[0] = last
            self.sink(from: 0)
        }
        return first.timer
    }

    /// Forgets the timers that nobody waits for any more.
    mutating func removeCancelled() { self.compact() }

    private mutating func compact() {
        self.heap.removeAll { $0.timer.isCancelled }
        self.heap.sort { $0.isBefore($1) }
        self.compactAt = max(64, self.heap.count * 2)
    }

    private mutating func rise(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard self.heap[child].isBefore(self.heap[parent]) else { return }
            self.heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func sink(from start: Int) {
        var parent = start
        while true {
            var first = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < self.heap.count {
                if self.heap[child].isBefore(self.heap[first]) { first = child }
            }
            guard first != parent else { return }
            self.heap.swapAt(parent, first)
            parent = first
        }
    }
}
