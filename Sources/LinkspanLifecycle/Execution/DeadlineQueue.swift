/// Deadlines in order, as a value.
struct DeadlineQueue: Sendable {
    typealias Action = @Sendable () -> Void

    private struct Item: Sendable {
        let deadline: ContinuousClock.Instant
        let number: UInt64

        func isBefore(_ other: Item) -> Bool {
            (self.deadline, self.number) < (other.deadline, other.number)
        }
    }

    private var heap: [Item] = []
    private var actions: [UInt64: Action] = [:]
    private var last: UInt64 = 0

    /// The earliest deadline that still waits.
    var next: ContinuousClock.Instant? { self.heap.first?.deadline }

    /// How many deadlines wait.
    var count: Int { self.actions.count }

    mutating func add(_ deadline: ContinuousClock.Instant, _ action: @escaping Action) -> UInt64 {
        self.last += 1
        self.actions[self.last] = action
        self.heap.append(Item(deadline: deadline, number: self.last))
        self.siftUp(self.heap.count - 1)
        return self.last
    }

    mutating func remove(_ number: UInt64) {
        self.actions[number] = nil
        self.dropCalledOff()
        // Items that were called off may stay in the heap below the first; do not let them pile up.
        if self.heap.count > 64, self.heap.count > self.actions.count * 4 {
            let kept = self.heap.filter { self.actions[$0.number] != nil }
            self.heap = kept.sorted { $0.isBefore($1) }
        }
    }

    /// Takes the earliest action whose time has come.
    mutating func popDue(_ now: ContinuousClock.Instant) -> Action? {
        guard let first = self.heap.first, first.deadline <= now else {
            return nil
        }
        self.popFirst()
        defer { self.dropCalledOff() }
        return self.actions.removeValue(forKey: first.number)
    }

    /// Keeps the first of the heap one that still waits.
    private mutating func dropCalledOff() {
        while let first = self.heap.first, self.actions[first.number] == nil {
            self.popFirst()
        }
    }

    private mutating func popFirst() {
        self.heap.swapAt(0, self.heap.count - 1)
        self.heap.removeLast()
        self.siftDown(0)
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0, self.heap[child].isBefore(self.heap[(child - 1) / 2]) {
            self.heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < self.heap.count {
                if self.heap[child].isBefore(self.heap[least]) {
                    least = child
                }
            }
            guard least != parent else {
                return
            }
            self.heap.swapAt(parent, least)
            parent = least
        }
    }
}
