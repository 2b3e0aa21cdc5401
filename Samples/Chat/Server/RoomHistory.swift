import Linkspan

/// What was said in a room: the last lines, with their numbers and the senders' keys.
struct RoomHistory: Sendable {
    private struct Key: Hashable {
        var from: String
        var id: String
    }

    /// A line as sent to everybody.
    private struct Entry {
        var payload: Payload
        var key: Key

        /// The memory that it takes, roughly.
        var bytes: Int {
            self.payload.byteCount + 2 * (self.key.from.utf8.count + self.key.id.utf8.count) + RoomHistory.overhead
        }
    }

    /// Lines that are kept, and keys that are known.
    static let limit = 10_000
    /// The memory that a line takes beside its text and its key.
    private static let overhead = 256

    /// The kept lines begin at `start`; those before it are removed from time to time.
    private var lines: [Entry] = []
    private var start = 0
    private var numbers: [Key: Int] = [:]
    /// The number of the last line.
    private(set) var last = 0
    /// The memory that the lines take, roughly.
    private(set) var bytes = 0

    /// The number of a repeated line.
    func number(of id: String, from name: String) -> Int? { self.numbers[Key(from: name, id: id)] }

    /// The latest of the lines after a number that are kept; none when the number is larger than any.
    ///
    /// - Parameters:
    ///   - seen: the number.
    ///   - bytes: the limit for the lines; their size is subtracted.
    /// - Returns: the lines as they go out, the oldest first.
    func lines(after seen: Int, within bytes: inout Int) -> [Payload] {
        guard seen < self.last else { return [] }
        let missed = self.lines[self.start...].suffix(self.last - seen)
        var first = missed.endIndex
        while first > missed.startIndex, bytes >= missed[first - 1].payload.byteCount {
            first -= 1
            bytes -= missed[first].payload.byteCount
        }
        return missed[first...].map(\.payload)
    }

    /// Adds a line; returns it as sent.
    mutating func add(_ text: String, id: String, from name: String, in room: String) -> (seq: Int, payload: Payload) {
        self.last += 1
        let line = ChatVocabulary.Line(room: room, from: name, text: text, id: id, seq: self.last)
        let entry = Entry(payload: .of(line), key: Key(from: name, id: id))
        self.lines.append(entry)
        self.bytes += entry.bytes
        self.numbers[entry.key] = self.last
        if self.lines.count - self.start > Self.limit { self.forgetOldest() }
        return (self.last, entry.payload)
    }

    /// Forgets the oldest line that is kept.
    mutating func forgetOldest() {
        guard self.start < self.lines.count else { return }
        let oldest = self.lines[self.start]
        self.bytes -= oldest.bytes
        self.numbers[oldest.key] = nil
        self.start += 1
        guard self.start * 2 >= self.lines.count else { return }
        self.lines.removeFirst(self.start)
        self.start = 0
    }
}
