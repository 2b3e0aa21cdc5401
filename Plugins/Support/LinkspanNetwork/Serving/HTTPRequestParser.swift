internal import LinkspanWebSocketProtocol

/// Reads the requests of one connection: bytes go in, requests come out (RFC 9112).
///
/// Bounded in everything, and strict where leniency is how requests are smuggled: lines end with CRLF, a body has one
/// length in digits, and what has a transfer coding is refused. After an error the connection is to be closed.
///
/// The authority of a target in absolute form, as in `GET http://localhost/path`, replaces the `Host` field (§3.2.2).
package struct HTTPRequestParser: Sendable {
    /// The most bytes of a request's head, empty lines before it included.
    private static let headBytes = 16 * 1024
    /// The most header fields.
    private static let fields = 100
    /// The most bytes that are kept for requests which come before their turn.
    private static let earlyBytes = 64 * 1024

    private enum State: Sendable {
        case head
        case body(HTTPRequest, length: Int)
        case failed(HTTPRequestError)
    }

    /// The most bytes of a body.
    private let bodyBytes: Int
    private var state = State.head
    private var input = InputBuffer()
    /// The bytes of the empty lines before the next request.
    private var emptyBytes = 0

    /// Makes a parser that waits for a request.
    package init(bodyBytes: Int) { self.bodyBytes = bodyBytes }

    /// Whether more came before its turn than is kept.
    package var isFlooded: Bool {
        self.rest.count > Self.headBytes + self.bodyBytes + Self.earlyBytes
    }

    /// Takes received bytes.
    package mutating func receive(_ bytes: [UInt8]) { self.input.append(bytes) }

    /// The next request that is complete; nil when more bytes are needed.
    package mutating func next() throws(HTTPRequestError) -> HTTPRequest? {
        if case .failed(let error) = self.state { throw error }
        do throws(HTTPRequestError) {
            if case .head = self.state { try self.readHead() }
            return self.readBody()
        } catch {
            self.state = .failed(error)
            throw error
        }
    }

    /// The head of a request whose client waits for an answer with status 100 before it sends the body.
    ///
    /// Nil when a part of the body has come, and when the head was returned before: the client is answered once.
    package mutating func takeExpectation() -> HTTPRequest? {
        guard case .body(var request, let length) = self.state, request.expectsContinue else { return nil }
        request.expectsContinue = false
        self.state = .body(request, length: length)
        return self.rest.isEmpty ? request : nil
    }

    /// Returns the bytes after the last request, which belong to the protocol that it changed to.
    package mutating func takeRest() -> [UInt8] {
        defer { self.input = InputBuffer() }
        return Array(self.rest)
    }

    private mutating func readHead() throws(HTTPRequestError) {
        self.skipEmptyLines()
        guard let length = self.input.length(through: .headEnd) else {
            guard self.emptyBytes + self.rest.count <= Self.headBytes else { throw Self.oversized }
            guard self.rest.first != Self.tlsHandshake else { throw Self.encrypted }
            return
        }
        guard self.emptyBytes + length <= Self.headBytes else { throw Self.oversized }
        let request = try HTTPRequestHead.parse(self.rest.prefix(length - 4), fields: Self.fields)
        let bodyLength = try self.length(of: request)
        self.input.take(length)
        self.emptyBytes = 0
        self.state = .body(request, length: bodyLength)
    }

    private mutating func readBody() -> HTTPRequest? {
        guard case .body(var request, let length) = self.state, self.rest.count >= length else { return nil }
        request.body = Array(self.input.take(length))
        self.state = .head
        return request
    }

    /// The bytes that were not dealt with.
    package var rest: ArraySlice<UInt8> { self.input.rest }

    /// Skips the empty lines that some clients send behind a body (RFC 9112 §2.2).
    private mutating func skipEmptyLines() {
        while self.rest.starts(with: [UInt8].lineEnd) {
            self.input.take(2)
            self.emptyBytes += 2
        }
    }

    private func length(of request: HTTPRequest) throws(HTTPRequestError) -> Int {
        guard request.values("transfer-encoding").isEmpty else {
            throw HTTPRequestError(status: 501, message: "transfer codings are not supported")
        }
        let lengths = request.values("content-length")
        guard let text = lengths.first else { return 0 }
        let isNumber = (1...18).contains(text.utf8.count) && text.isDigits
        guard lengths.count == 1, isNumber, let length = Int(text) else {
            throw HTTPRequestError(status: 400, message: "Content-Length is not one number")
        }
        guard length <= self.bodyBytes else {
            throw HTTPRequestError(status: 413, message: "the body is larger than the limit")
        }
        return length
    }

    /// The first byte of a client that speaks TLS, and then waits for an answer.
    private static let tlsHandshake: UInt8 = 0x16
    private static let encrypted = HTTPRequestError(status: 400, message: "this server does not speak TLS")
    private static let oversized = HTTPRequestError(status: 431, message: "the head is larger than the limit")
}
