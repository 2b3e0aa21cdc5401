/// What was said in a room: the last lines, with their numbers and the senders' keys.
struct RoomHistory: Sendable {
    private struct Key: Hashable {
        var from: String
        var id: String
    }

    /// Lines that are kept, and keys that are known.
    static let limit = 10_000
    /// What a line takes beside its text: its other fields, and its place among the keys.
    private static let overhead = 256

    /// The lines that are kept begin at `start`; what is before them is cleared away now and then.
    private var lines: [ChatVocabulary.Line] = []
    private var start = 0
    private var numbers: [Key: Int] = [:]
    /// The number of the last line.
    private(set) var last = 0
    /// The memory that the lines take, roughly.
    private(set) var bytes = 0

    /// The number of a line that was said before, and has come again.
    func number(of id: String, from name: String) -> Int? { self.numbers[Key(from: name, id: id)] }

    /// The lines after a number, as far as there are any; none when the number is larger than any.
    func lines(after seen: Int) -> ArraySlice<ChatVocabulary.Line> {
        let kept = self.lines[self.start...]
        guard seen < self.last else { return [] }
        return kept.suffix(min(self.last - seen, kept.count))
    }

    /// Adds a line.
    mutating func add(_ text: String, id: String, from name: String, in room: String) -> ChatVocabulary.Line {
        self.last += 1
        let line = ChatVocabulary.Line(room: room, from: name, text: text, id: id, seq: self.last)
        self.lines.append(line)
        self.bytes += Self.bytes(of: line)
        self.numbers[Key(from: name, id: id)] = self.last
        if self.lines.count - self.start > Self.limit { self.forgetOldest() }
        return line
    }

    private static func bytes(of line: ChatVocabulary.Line) -> Int {
        line.text.utf8.count + 2 * (line.from.utf8.count + line.id.utf8.count) + line.room.utf8.count + Self.overhead
    }

    /// Forgets the oldest line that is kept.
    mutating func forgetOldest() {
        guard self.start < self.lines.count else { return }
        let oldest = self.lines[self.start]
        self.bytes -= Self.bytes(of: oldest)
        self.numbers[Key(from: oldest.from, id: oldest.id)] = nil
        self.start += 1
        guard self.start * 2 >= self.lines.count else { return }
        self.lines.removeFirst(self.start)
        self.start = 0
    }
}
