internal import DequeModule

/// Waiting messages, and the gaps between them.
///
/// A value without I/O. Marks take no room of their own: all that lie between two messages are one ``Hole``.
struct EventBacklog: Sendable {
    /// A gap at one place.
    struct Hole: Sendable, Hashable {
        /// Messages that were dropped here.
        var missed = 0
        /// The reconnects that happened here: a gap if any of them was one.
        var reconnect: Continuity?

        var isEmpty: Bool { self.missed == 0 && self.reconnect == nil }

        mutating func merge(_ other: Self) {
            self.missed += other.missed
            if let mark = other.reconnect { self.mark(mark) }
        }

        mutating func mark(_ continuity: Continuity) {
            switch continuity {
            case .gap(.overflow(let missed)): self.missed += missed
            case .gap(.reconnected): self.reconnect = continuity
            case .continuous: self.reconnect = self.reconnect ?? continuity
            }
        }

        /// The marks that say so.
        var marks: [Continuity] {
            let overflow: [Continuity] = self.missed > 0 ? [.gap(.overflow(missed: self.missed))] : []
            return overflow + (self.reconnect.map { [$0] } ?? [])
        }
    }

    /// A message with the gap just before it.
    struct Entry: Sendable {
        var hole: Hole
        let message: Message
    }

    private(set) var entries: Deque<Entry> = []
    /// The size of the messages.
    private(set) var byteCount = 0
    /// The gap behind the last message.
    private(set) var end = Hole()

    var isEmpty: Bool { self.entries.isEmpty && self.end.isEmpty }

    mutating func append(_ message: Message) {
        self.entries.append(Entry(hole: self.end, message: message.detached()))
        self.byteCount += message.byteCount
        self.end = Hole()
    }

    mutating func mark(_ continuity: Continuity) { self.end.mark(continuity) }

    mutating func mark(_ hole: Hole) { self.end.merge(hole) }

    /// Notes a message that is not kept.
    mutating func miss() { self.end.missed += 1 }

    /// Leaves out the oldest message, and notes that it is missing.
    mutating func dropOldest() { _ = self.takeOldest(missed: 1) }

    /// Takes out the oldest message; the place where it stood keeps what is known about it.
    ///
    /// - Parameter missed: how many more messages are missing there from now on.
    /// - Returns: the message, if there was one.
    mutating func takeOldest(missed: Int = 0) -> Message? {
        guard let first = self.popFirst() else { return nil }
        var hole = first.hole
        hole.missed += missed
        if var next = self.entries.popFirst() {
            hole.merge(next.hole)
            next.hole = hole
            self.entries.prepend(next)
        } else {
            hole.merge(self.end)
            self.end = hole
        }
        return first.message
    }

    /// Leaves out the newest message, and notes that it is missing.
    mutating func dropNewest() {
        guard let last = self.entries.popLast() else { return }
        self.byteCount -= last.message.byteCount
        var hole = last.hole
        hole.missed += 1
        hole.merge(self.end)
        self.end = hole
    }

    mutating func popFirst() -> Entry? {
        guard let first = self.entries.popFirst() else { return nil }
        self.byteCount -= first.message.byteCount
        return first
    }

    /// Makes an entry the first one.
    mutating func putBack(_ entry: Entry) {
        self.entries.prepend(entry)
        self.byteCount += entry.message.byteCount
    }

    /// Puts all that an earlier backlog holds before what is here.
    mutating func putBack(_ earlier: EventBacklog) {
        var whole = earlier
        for var entry in self.entries {
            if !whole.end.isEmpty {
                var hole = whole.takeEnd()
                hole.merge(entry.hole)
                entry.hole = hole
            }
            whole.entries.append(entry)
        }
        whole.byteCount += self.byteCount
        whole.end.merge(self.end)
        self = whole
    }

    /// The gap before the oldest message, or the only one when there is no message, reported once.
    mutating func takeStart() -> Hole {
        guard !self.entries.isEmpty else { return self.takeEnd() }
        defer { self.entries[0].hole = Hole() }
        return self.entries[0].hole
    }

    /// The gap behind the last message, reported once.
    mutating func takeEnd() -> Hole {
        defer { self.end = Hole() }
        return self.end
    }
}
