internal import DequeModule

/// The elements that an iterator has taken from its queue, all that waited at once, and has not returned yet.
///
/// An iterator that goes away puts them back, so that the next one begins where it ended.
final class UnreadEvents {
    enum Item {
        case mark(Continuity)
        case entry(EventBacklog.Entry)
    }

    var batch = EventBacklog()
    /// The marks before the entry, and the entry, which come before the batch.
    private var marks: Deque<Continuity> = []
    private var entry: EventBacklog.Entry?
    private let queue: EventQueue

    init(of queue: EventQueue) { self.queue = queue }

    deinit {
        if var entry = self.entry {
            entry.hole = EventBacklog.Hole()
            for mark in self.marks { entry.hole.mark(mark) }
            self.batch.putBack(entry)
        } else {
            for mark in self.marks { self.batch.mark(mark) }
        }
        self.queue.putBack(self.batch)
    }

    /// The next message, or the next mark before or behind one.
    func popItem() -> Item? {
        if let next = self.marks.popFirst() { return .mark(next) }
        if let entry = self.entry.take() { return .entry(entry) }
        if let entry = self.batch.popFirst() {
            guard !entry.hole.isEmpty else { return .entry(entry) }
            self.marks = Deque(entry.hole.marks)
            self.entry = entry
        } else {
            self.marks = Deque(self.batch.takeEnd().marks)
        }
        return self.marks.popFirst().map { .mark($0) }
    }
}
