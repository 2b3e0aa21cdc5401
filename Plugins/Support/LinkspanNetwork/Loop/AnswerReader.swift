internal import Linkspan

/// Reads an answer as it comes, without the interim ones before it (1xx, RFC 9110 section 15.2).
package struct AnswerReader {
    package enum Step {
        /// More bytes are needed.
        case more
        /// The answer's head; interim ones are skipped.
        case head(ResponseHead)
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
        /// So many bytes are to come, of a chunk or of a body whose length was announced.
        case body(Int, isChunk: Bool)
        case chunkSize
        case chunkEnd
        /// The fields behind the last chunk; so many bytes of them were read.
        case trailer(Int)
        case ended
    }

    /// The most bytes of a head, of a chunk's line, and of all fields behind the last chunk.
    fileprivate static let lineLimit = 16 << 10
    /// The bytes that every answer begins with (RFC 9112 section 4).
    private static let version = Array("HTTP/".utf8)
    /// The most interim answers.
    private static let interimLimit = 16

    private let isExchange: Bool
    private var state = State.head
    private var input = InputBuffer()
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

    /// Whether all of the answer was read, and no byte has come after it.
    package var isDone: Bool { if case .ended = self.state { self.input.rest.isEmpty } else { false } }

    package mutating func append(_ bytes: some Sequence<UInt8>) { self.input.append(bytes) }

    package mutating func next() -> Step {
        while true {
            switch self.state {
            case .head:
                // A server of another protocol may never send what ends a head.
                guard zip(self.input.rest, Self.version).allSatisfy(==) else {
                    return .failed(.foreign(self.input.rest))
                }
                // A line may end with LF alone (RFC 9112 section 2.2).
                let found = self.input.length(through: [10, 13, 10], [10, 10])
                // Whether its end is here or not: how a head is cut is up to the network.
                guard found ?? self.input.rest.count <= Self.lineLimit else { return .failed(.longHead) }
                guard let length = found else { return .more }
                guard let head = ResponseHead(self.input.take(length)) else { return .malformed }
                guard head.isInterim else {
                    self.state = self.body(of: head)
                    return .head(head)
                }
                self.interim += 1
                guard self.interim <= Self.interimLimit else { return .failed(.manyInterim(Self.interimLimit)) }
            case .unframed: return self.input.rest.isEmpty ? .more : .bytes(Array(self.input.take(.max)))
            case .body(let rest, let isChunk):
                guard rest > 0 else {
                    self.state = isChunk ? .chunkEnd : .ended
                    continue
                }
                guard !self.input.rest.isEmpty else { return .more }
                let piece = Array(self.input.take(rest))
                self.state = .body(rest - piece.count, isChunk: isChunk)
                return .bytes(piece)
            case .chunkSize:
                guard let line = self.line() else { return self.wait() }
                guard let size = Self.size(line) else { return .malformed }
                self.state = size == 0 ? .trailer(0) : .body(size, isChunk: true)
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

    /// The state behind a head.
    private func body(of head: ResponseHead) -> State {
        guard self.isExchange else { return .unframed }
        if head.isChunked { return .chunkSize }
        if let length = head.length { return .body(length, isChunk: false) }
        // Only these have no body (RFC 9112 section 6.3); that of others ends with the connection.
        return [204, 304].contains(head.status) ? .ended : .unframed
    }

    /// The length of a chunk: hexadecimal digits, behind which there may be blanks and extensions.
    private static func size(_ line: ArraySlice<UInt8>) -> Int? {
        let digits = line.prefix { Character(UnicodeScalar($0)).isHexDigit }
        let rest = line[digits.endIndex...].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard digits.count <= 8, rest.isEmpty || rest.first == UInt8(ascii: ";") else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16).flatMap(Int.init(exactly:))
    }

    /// Waits for the rest of a line; the lines of chunks have no leniency.
    private func wait() -> Step {
        self.input.rest.count > Self.lineLimit ? .failed(.longLine) : self.input.rest.contains(10) ? .malformed : .more
    }

    private mutating func line() -> ArraySlice<UInt8>? {
        self.input.length(through: .lineEnd).map { self.input.take($0).dropLast(2) }
    }
}

extension ByteStreamError {
    fileprivate static func foreign(_ bytes: ArraySlice<UInt8>) -> Self {
        let text = ForeignText.line(String(decoding: bytes.prefix(100), as: UTF8.self))
        return Self(.handshakeMalformed, "the server does not speak HTTP: it sent '\(text)'")
    }

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
