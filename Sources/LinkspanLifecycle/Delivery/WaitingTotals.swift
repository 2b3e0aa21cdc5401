internal import DequeModule

/// The running totals that wait in a mailbox: the newest of each state, in the order of their numbers.
struct WaitingTotals: Sendable {
    private var newest: [RetentionKey: Letter] = [:]
    /// The states by the numbers of their letters; a letter that was replaced leaves its number behind, though never in front.
    private var order: Deque<(seq: UInt64, key: RetentionKey)> = []

    var count: Int { self.newest.count }

    /// The number of the oldest letter.
    var firstSeq: UInt64? { self.order.first?.seq }

    /// Adds a letter, which takes the place of an older one about the same state.
    ///
    /// - Returns: the letter that was replaced.
    mutating func add(_ letter: Letter, _ key: RetentionKey) -> Letter? {
        let replaced = self.newest.updateValue(letter, forKey: key)
        self.order.append((letter.stamped.seq, key))
        self.dropReplaced()
        return replaced
    }

    /// Puts back a letter that is older than all others, unless a newer one about the same state waits.
    mutating func putBack(_ letter: Letter, _ key: RetentionKey) {
        guard self.newest[key] == nil else { return }
        self.newest[key] = letter
        self.order.prepend((letter.stamped.seq, key))
    }

    mutating func popFirst() -> Letter? {
        guard let (_, key) = self.order.popFirst() else { return nil }
        defer { self.dropReplaced() }
        return self.newest.removeValue(forKey: key)
    }

    mutating func markReplayed() {
        for key in self.newest.keys { self.newest[key]?.stamped.replayed = true }
    }

    /// Drops the states of a subject that ended with the event of this number.
    mutating func forget(subject: String, before seq: UInt64) {
        self.newest = self.newest.filter { $0.key.subject != subject || $0.value.stamped.seq > seq }
        self.dropReplaced()
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

    private func isReplaced(_ place: (seq: UInt64, key: RetentionKey)) -> Bool {
        self.newest[place.key]?.stamped.seq != place.seq
    }
}
