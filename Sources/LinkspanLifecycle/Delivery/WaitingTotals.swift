internal import DequeModule

/// The running totals that wait in a mailbox: the newest of each state, in the order of their numbers.
///
/// A replayed total stays beside a newer one: it is what the receiver counts from.
struct WaitingTotals: Sendable {
    private var newest: [Letter.Total: Letter] = [:]
    /// The places by the numbers of their letters; a letter that was replaced leaves its number behind, though never in front.
    private var order: Deque<(seq: UInt64, place: Letter.Total)> = []

    var count: Int { self.newest.count }

    /// The number of the oldest letter.
    var firstSeq: UInt64? { self.order.first?.seq }

    /// Adds a letter, which takes the place of an older one about the same state.
    mutating func add(_ letter: Letter, _ place: Letter.Total) {
        self.newest[place] = letter
        self.order.append((letter.stamped.seq, place))
        self.dropReplaced()
    }

    mutating func popFirst() -> Letter? {
        guard let (_, place) = self.order.popFirst() else { return nil }
        defer { self.dropReplaced() }
        return self.newest.removeValue(forKey: place)
    }

    /// Takes all letters out.
    mutating func removeAll() -> [Letter] {
        defer { self = Self() }
        return Array(self.newest.values)
    }

    private mutating func dropReplaced() {
        while let first = self.order.first, self.isReplaced(first) { self.order.removeFirst() }
        guard self.order.count > 2 * self.newest.count + 16 else { return }
        self.order = self.order.filter { !self.isReplaced($0) }
    }

    private func isReplaced(_ entry: (seq: UInt64, place: Letter.Total)) -> Bool {
        self.newest[entry.place]?.stamped.seq != entry.seq
    }
}
