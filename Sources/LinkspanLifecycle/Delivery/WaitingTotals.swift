internal import DequeModule

/// The running totals that wait in a mailbox: the newest of each state, in the order of their numbers.
///
/// A replayed total stays beside a newer one: it is what the receiver counts from.
struct WaitingTotals: Sendable {
    /// A state, as it was before the receiver came or as it is since.
    private struct Place: Hashable {
        let key: RetentionKey
        let isReplayed: Bool
    }

    private var newest: [Place: Letter] = [:]
    /// The places by the numbers of their letters; a letter that was replaced leaves its number behind, though never in front.
    private var order: Deque<(seq: UInt64, place: Place)> = []

    var count: Int { self.newest.count }

    /// The number of the oldest letter.
    var firstSeq: UInt64? { self.order.first?.seq }

    /// Adds a letter, which takes the place of an older one about the same state.
    mutating func add(_ letter: Letter, _ key: RetentionKey) {
        let place = Place(key: key, isReplayed: letter.stamped.replayed)
        self.newest[place] = letter
        self.order.append((letter.stamped.seq, place))
        self.dropReplaced()
    }

    /// Puts back a letter that is older than all others, unless a newer one about the same state waits.
    mutating func putBack(_ letter: Letter, _ key: RetentionKey) {
        let place = Place(key: key, isReplayed: letter.stamped.replayed)
        guard self.newest[place] == nil else { return }
        self.newest[place] = letter
        self.order.prepend((letter.stamped.seq, place))
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

    private func isReplaced(_ entry: (seq: UInt64, place: Place)) -> Bool {
        self.newest[entry.place]?.stamped.seq != entry.seq
    }
}
