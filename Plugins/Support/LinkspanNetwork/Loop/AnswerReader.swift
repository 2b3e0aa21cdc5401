internal import LinkspanRuntime

/// Reads an answer as it comes, without the interim ones before it (1xx, RFC 9110 section 15.2).
package struct AnswerReader {
    package enum Step {
        /// More bytes are needed.
        case more
        /// The answer's head; interim ones are skipped.
        case head(UpgradeAnswer)
        /// A piece of the stream, or of the body of an exchange.
        case bytes([UInt8])
        /// The body is complete.
        case end
        /// The answer is no HTTP, or is larger than is accepted here.
        case failed(ByteStreamError)

        fileprivate static var malformed: Self {
            .failed(ByteStreamError(.handshakeMalformed, "the answer breaks the rules of HTTP"))
        }
    }

    private enum State {
        case head
        /// The bytes are those of the stream, or the body ends with the connection.
        case unframed
        case counted(Int)
        case chunkSize
        case chunk(Int)
        case chunkEnd
        /// The fields behind the last chunk; so many bytes of them were read.
        case trailer(Int)
        case ended
    }

    /// The most bytes of a head, of a chunk's line, and of all fields behind the last chunk.
    fileprivate static let lineLimit = 16 << 10
    /// The most interim answers.
    private static let interimLimit = 16

    private let isExchange: Bool
    private var state = State.head
    private var input: [UInt8] = []
    /// The bytes of the input that were dealt with; they are removed once a read, and not once for each chunk in it.
    private var taken = 0
    /// The bytes of the input in which no line end begins that is still to be found.
    private var searched = 0
    private var interim: Int

    /// - Parameters:
    ///   - isExchange: whether the answer has a body, and is no stream.
    ///   - interim: how many interim answers there were before.
    package init(isExchange: Bool, interim: Int = 0) {
        self.isExchange = isExchange
        self.interim = interim
    }

    /// Whether the end of the connection now would cut something off.
    package var isUnfinished: Bool {
        switch self.state {
        case .unframed, .ended: false
        default: true
        }
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        self.removeTaken()
        self.input.append(contentsOf: bytes)
    }

    package mutating func next() -> Step {
        while true {
            switch self.state {
            case .head:
                let found = self.find([13, 10, 13, 10])
                // Whether its end is here or not: how a head is cut is up to the network.
                guard (found ?? self.input.count) - self.taken <= Self.lineLimit else { return .failed(.longHead) }
                guard let end = found else { return .more }
                let head = self.take(end - self.taken)
                guard let answer = UpgradeAnswer(head: head) else { return .malformed }
                guard answer.isInterim else {
                    self.begin(answer)
                    return .head(answer)
                }
                self.interim += 1
                guard self.interim <= Self.interimLimit else { return .failed(.manyInterim(Self.interimLimit)) }
            case .unframed: return self.rest.isEmpty ? .more : .bytes(self.take(self.rest.count))
            case .counted(let rest), .chunk(let rest):
                guard rest > 0 else {
                    if case .chunk = self.state { self.state = .chunkEnd } else { self.state = .ended }
                    continue
                }
                guard !self.rest.isEmpty else { return .more }
                let piece = self.take(min(rest, self.rest.count))
                if case .chunk = self.state {
                    self.state = .chunk(rest - piece.count)
                } else {
                    self.state = .counted(rest - piece.count)
                }
                return .bytes(piece)
            case .chunkSize:
                guard let line = self.line() else { return self.wait() }
                guard let size = Self.size(line) else { return .malformed }
                self.state = size == 0 ? .trailer(0) : .chunk(size)
            case .chunkEnd:
                guard let line = self.line() else { return self.wait() }
                guard line.isEmpty else { return .malformed }
                self.state = .chunkSize
            case .trailer(let count):
                guard let line = self.line() else { return self.wait() }
                guard count + line.count <= Self.lineLimit else { return .failed(.longLine) }
                self.state = line.isEmpty ? .ended : .trailer(count + line.count)
            case .ended: return .end
            }
        }
    }

    private mutating func begin(_ answer: UpgradeAnswer) {
        guard self.isExchange else { return self.state = .unframed }
        if answer.isChunked {
            self.state = .chunkSize
        } else if let length = answer.head.length {
            self.state = .counted(length)
        } else {
            // Only these have no body (RFC 9112 section 6.3); that of others ends with the connection.
            self.state = [204, 304].contains(answer.head.status) ? .ended : .unframed
        }
    }

    /// The length of a chunk: hexadecimal digits, behind which there may be blanks and extensions.
    private static func size(_ line: [UInt8]) -> Int? {
        let digits = line.prefix { Character(UnicodeScalar($0)).isHexDigit }
        let rest = line[digits.endIndex...].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard digits.count <= 8, rest.isEmpty || rest.first == UInt8(ascii: ";") else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16).flatMap(Int.init(exactly:))
    }

    private func wait() -> Step { self.rest.count <= Self.lineLimit ? .more : .failed(.longLine) }

    private mutating func line() -> [UInt8]? {
        guard let end = self.find([13, 10]) else { return nil }
        return self.take(end - self.taken).dropLast(2)
    }

    /// Finds the end of a line or of a head; what was searched before is not searched again.
    private mutating func find(_ mark: [UInt8]) -> Int? {
        let start = max(self.taken, self.searched)
        if let end = self.input[start...].firstRange(of: mark)?.upperBound { return end }
        self.searched = max(start, self.input.count - mark.count + 1)
        return nil
    }

    /// The input that was not dealt with.
    private var rest: ArraySlice<UInt8> { self.input[self.taken...] }

    private mutating func take(_ count: Int) -> [UInt8] {
        defer { self.taken += count }
        return Array(self.rest.prefix(count))
    }

    private mutating func removeTaken() {
        guard self.taken > 0 else { return }
        assert(Growth.step())
        self.input.removeFirst(self.taken)
        self.searched = max(0, self.searched - self.taken)
        self.taken = 0
    }
}

extension ByteStreamError {
    /// No rule of HTTP limits a head.
    fileprivate static let longHead = Self(
        .answerHeadTooLong,
        "the answer's head is larger than the \(AnswerReader.lineLimit) bytes that are accepted here")

    fileprivate static let longLine = Self(
        .answerHeadTooLong,
        "a chunk-size line or the trailer fields of the answer exceed the \(AnswerReader.lineLimit) bytes that are accepted here"
    )

    fileprivate static func manyInterim(_ limit: Int) -> Self {
        Self(.answerHeadTooLong, "more interim answers came than the \(limit) that are accepted here")
    }
}

extension UpgradeAnswer {
    /// Whether another answer follows.
    package var isInterim: Bool { (100...199).contains(self.head.status) && self.head.status != 101 }

    /// Reads a head, up to its empty line; nil when it is none.
    fileprivate init?(head bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: true)
        let words = lines.first?.split(separator: " ", maxSplits: 2) ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), words[1].utf8.count == 3, let status = Int(words[1])
        else { return nil }
        guard let unfolded = Self.unfolded(lines.dropFirst()) else { return nil }
        var fields: [String: [String]] = [:]
        for line in unfolded {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else { return nil }
            fields[line[..<colon].lowercased(), default: []].append(Self.value(line[line.index(after: colon)...]))
        }
        let field = { (name: String) in fields[name]?.joined(separator: ",") }
        // An empty list names nothing.
        let list = { (name: String) in field(name).flatMap { $0.isEmpty ? nil : $0 } }
        let isChunked = field("transfer-encoding") != nil
        self.init(
            head: ResponseHead(
                status: status, upgrade: field("upgrade"), connection: field("connection"),
                accept: field("sec-websocket-accept"), subprotocol: list("sec-websocket-protocol"),
                extensions: list("sec-websocket-extensions")),
            location: field("location"), retryAfter: field("retry-after"),
            hasBody: field("content-length") != nil || isChunked, isChunked: isChunked)
        self.complete(cookies: fields["set-cookie"] ?? [], length: field("content-length"))
    }

    /// Joins lines that begin with a blank to the field before them (RFC 9112 section 5.2); nil when there is none.
    private static func unfolded(_ lines: ArraySlice<Substring>) -> [String]? {
        var fields: [String] = []
        for line in lines {
            if line.first.map(Self.isBlank) != true {
                fields.append(String(line))
            } else {
                guard !fields.isEmpty else { return nil }
                fields[fields.count - 1] += " " + Self.value(line)
            }
        }
        return fields
    }

    /// A field's value without the blanks around it (RFC 9110 section 5.5).
    private static func value(_ text: Substring) -> String {
        var value = text.drop(while: Self.isBlank)
        while value.last.map(Self.isBlank) == true { value.removeLast() }
        return String(value)
    }

    private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
}
