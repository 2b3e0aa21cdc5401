internal import LinkspanRuntime

/// Received bytes that are taken from the front: those taken are removed once a read, and not once for each piece in it.
struct InputBuffer: Sendable {
    private var bytes: [UInt8] = []
    /// The number of bytes that were taken.
    private var taken = 0
    /// The number of bytes already searched for a mark.
    private var searched = 0

    /// The bytes that were not taken.
    var rest: ArraySlice<UInt8> { self.bytes[self.taken...] }

    mutating func append(_ new: some Sequence<UInt8>) {
        if self.taken > 0 {
            assert(Growth.step())
            self.bytes.removeFirst(self.taken)
            self.searched = max(0, self.searched - self.taken)
            self.taken = 0
        }
        self.bytes.append(contentsOf: new)
    }

    /// The number of bytes up to the end of the next of these marks; nil when none has come.
    ///
    /// The search goes on where the last one ended, less the beginning of a mark that was cut there; for that the longest mark
    /// has to come first.
    mutating func length(through marks: [UInt8]...) -> Int? {
        let start = max(self.taken, self.searched)
        let end = marks.reduce(Int?.none) { end, mark in
            self.bytes[start..<(end ?? self.bytes.count)].firstRange(of: mark)?.upperBound ?? end
        }
        if end == nil { self.searched = max(start, self.bytes.count - (marks.first?.count ?? 0) + 1) }
        return end.map { $0 - self.taken }
    }

    /// Takes as many bytes, or all when there are fewer.
    @discardableResult
    mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        let piece = self.rest.prefix(count)
        self.taken += piece.count
        return piece
    }
}

extension [UInt8] {
    /// The end of a line.
    static var lineEnd: Self { [13, 10] }
    /// The end of a head: that of its last field and an empty line.
    static var headEnd: Self { [13, 10, 13, 10] }
}
