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

    /// The kept lines by number: the last ones, without a hole.
    private var lines: [Int: Entry] = [:]
    private var numbers: [Key: Int] = [:]
    /// The number before that of the first line there was.
    let start: Int
    /// The number of the last line.
    private(set) var last: Int
    /// The memory that the lines take, roughly.
    private(set) var bytes = 0

    init(after start: Int) { (self.start, self.last) = (start, start) }

    var isEmpty: Bool { self.lines.isEmpty }

    /// The number of a repeated line.
    func number(of id: String, from name: String) -> Int? { self.numbers[Key(from: name, id: id)] }

    /// The latest of the lines after a number that are kept.
    ///
    /// - Parameters:
    ///   - seen: the number.
    ///   - bytes: the limit for the lines; their size is subtracted.
    /// - Returns: the lines as they go out, the oldest first.
    func lines(after seen: Int, within bytes: inout Int) -> [Payload] {
        var lines: [Payload] = []
        for number in stride(from: self.last, to: max(seen, self.last - self.lines.count), by: -1) {
            guard let line = self.lines[number]?.payload, line.byteCount <= bytes else { break }
            bytes -= line.byteCount
            lines.append(line)
        }
        return lines.reversed()
    }

    /// Adds a line, for which the oldest one may have to go.
    ///
    /// - Returns: the growth in bytes.
    mutating func add(_ payload: Payload, _ line: ChatVocabulary.Line) -> Int {
        let before = self.bytes
        // A hole, which only a damaged file has, begins a new history.
        if line.seq != self.last + 1 { self = Self(after: line.seq - 1) }
        // Without the unused room that the encoder has left behind the text.
        var text: ArraySlice<UInt8> = []
        text.reserveCapacity(payload.elements.count)
        text += payload.elements
        let entry = Entry(payload: Payload(trustedElements: text), key: Key(from: line.from, id: line.id))
        self.last = line.seq
        self.lines[self.last] = entry
        self.numbers[entry.key] = self.last
        self.bytes += entry.bytes
        if self.lines.count > Self.limit { self.forgetOldest() }
        return self.bytes - before
    }

    /// Forgets the oldest line that is kept.
    ///
    /// - Returns: the bytes that it took; nil when no line is kept.
    @discardableResult
    mutating func forgetOldest() -> Int? {
        let number = self.last - self.lines.count + 1
        guard let oldest = self.lines.removeValue(forKey: number) else { return nil }
        self.numbers[oldest.key] = nil
        self.bytes -= oldest.bytes
        return oldest.bytes
    }
}
