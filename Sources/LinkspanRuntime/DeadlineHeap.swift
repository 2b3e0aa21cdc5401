private import HeapModule

/// Elements by their deadlines, as a value: the earliest comes first, and of equal deadlines the one inserted first.
///
/// Inserting, taking and removing cost O(log n). A removed element is let go of at once; its place in the heap goes
/// when it comes first, or when less than half of a grown heap is left.
package struct DeadlineHeap<Element> {
    /// Names an inserted element.
    package struct Key: Sendable, Hashable {
        fileprivate let number: UInt64
    }

    private struct Entry: Comparable, Sendable {
        let deadline: Moment
        let number: UInt64

        static func < (left: Self, right: Self) -> Bool {
            left.deadline == right.deadline ? left.number < right.number : left.deadline < right.deadline
        }
    }

    private var heap = Heap<Entry>()
    private var elements: [UInt64: Element] = [:]
    private var last: UInt64 = 0
    /// The earliest deadline; kept, because looking into the heap takes memory.
    package private(set) var earliest: Moment?

    /// Makes an empty heap.
    package init() {}

    /// The number of elements.
    package var count: Int { self.elements.count }

    /// The number of places that are taken, those of removed elements included.
    var places: Int { self.heap.count }

    /// Inserts an element.
    @discardableResult
    package mutating func insert(_ element: Element, at deadline: Moment) -> Key {
        self.last += 1
        self.elements[self.last] = element
        self.heap.insert(Entry(deadline: deadline, number: self.last))
        self.earliest = self.earliest.map { min($0, deadline) } ?? deadline
        return Key(number: self.last)
    }

    /// Removes an element; nil when it has been taken or removed.
    @discardableResult
    package mutating func remove(_ key: Key) -> Element? {
        guard let element = self.elements.removeValue(forKey: key.number) else { return nil }
        self.dropRemoved()
        if self.heap.count > 64, self.heap.count > self.elements.count * 2 {
            self.heap = Heap(self.heap.unordered.filter { self.elements[$0.number] != nil })
        }
        return element
    }

    /// Takes the earliest element, if its deadline is `now` or earlier.
    package mutating func popDue(_ now: Moment) -> Element? {
        guard let earliest = self.earliest, earliest <= now, let first = self.heap.min else { return nil }
        defer { self.dropRemoved() }
        return self.elements.removeValue(forKey: first.number)
    }

    /// Keeps an element that is there in the first place.
    private mutating func dropRemoved() {
        while let first = self.heap.min {
            self.earliest = first.deadline
            guard self.elements[first.number] == nil else { return }
            self.heap.removeMin()
        }
        self.earliest = nil
    }
}

extension DeadlineHeap: Sendable where Element: Sendable {}
