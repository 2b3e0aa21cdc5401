internal import Linkspan
@testable internal import LinkspanWebSocketProtocol
internal import Testing

@testable internal import LinkspanNetwork

/// What the end of a channel says in an error.
@Suite struct WebSocketEndTests {
    @Test
    func `the reason of a Close frame is quoted in one line, in which nothing is hidden`() {
        let reason = "\u{1B}[2J\u{1B}[H\nconnected\u{202E}\u{2028}"
        let event = CloseEvent(code: .normal, reason: reason)
        let error = LinkspanError(WebSocketEnd.closed(event))
        #expect(
            error.message
                == "the server closed the connection with code 1000: "
                + "\\u{1b}[2J\\u{1b}[H\\u{a}connected\\u{202e}\\u{2028}")
    }

    @Test
    func `a close keeps its reason out of everything that prints`() {
        let error = LinkspanError(WebSocketEnd.closed(CloseEvent(code: .init(rawValue: 4001), reason: "token 123")))
        #expect(error.webSocketClose == WebSocketClose(code: 4001, reason: "token 123"))
        // The connection takes credentials out of the message, and the cause must not bring them back.
        var concealed = error
        concealed.message = "the server closed the connection with code 4001: token <redacted>"
        #expect(concealed.description == "connectionLost: \(concealed.message)")
        #expect(concealed.webSocketClose == error.webSocketClose)
        let silent = LinkspanError(WebSocketEnd.closed(CloseEvent(code: .noStatus, reason: "")))
        #expect(silent.webSocketClose?.code == 1005)
        let outer = LinkspanError(.disconnected, "'ask' was not answered", cause: silent)
        #expect(outer.webSocketClose?.code == 1005)
        #expect(LinkspanError(WebSocketEnd.silent).webSocketClose == nil)
    }

    @Test
    func `a head that is larger than is accepted is reported as the limit`() {
        let head = ByteStreamError(.answerHeadTooLong, "the answer's head is larger than is accepted here")
        let error = LinkspanError(WebSocketEnd.stream(head))
        #expect(error.code == .protocolViolation)
        #expect(error.message == head.message)
    }

    @Test
    func `exceeding a limit is reported as the limit, a violation as the server's fault`() throws {
        var decoder = FrameDecoder(role: .client, limits: .init { $0.maxMessageBytes = 4 })
        decoder.append([0x81, 5, 1, 2, 3, 4, 5])
        let tooBig = try #require(throws: WebSocketProtocolError.self) { try decoder.next() }
        let limit = CloseEvent(code: .messageTooBig, reason: "", violation: tooBig)
        #expect(
            LinkspanError(WebSocketEnd.closed(limit)).message
                == "a message is larger than the 4 bytes that are accepted here")
        var other = FrameDecoder(role: .client)
        other.append([0xF1, 0])
        let broken = try #require(throws: WebSocketProtocolError.self) { try other.next() }
        let violation = CloseEvent(code: .protocolError, reason: "", violation: broken)
        #expect(LinkspanError(WebSocketEnd.closed(violation)).message == "the server broke the WebSocket protocol")
    }
}

/// What an end means for the next attempt.
@Suite struct EndMeaningTests {
    private static func code(_ error: ByteStreamError) -> LinkspanError.Code { LinkspanError(.stream(error)).code }

    @Test(
        arguments: [
            (400, .refused), (401, .credentialsRefused), (402, .serverUnavailable), (403, .refused), (404, .refused),
            (405, .refused), (406, .serverUnavailable), (407, .credentialsRefused), (410, .refused),
            (426, .unsupportedVersion), (429, .serverUnavailable), (500, .serverUnavailable), (nil, .serverUnavailable),
        ] as [(Int?, LinkspanError.Code)])
    func `the status of a refused upgrade decides`(status: Int?, code: LinkspanError.Code) {
        for refusal in [ByteStreamError.Code.refused, .refusedAfterUpgrade] {
            let error = LinkspanError(
                .stream(ByteStreamError(refusal, "no", status: status, retryAfter: .seconds(3))))
            #expect(error.code == code && error.message == "no" && error.retryAfter == .seconds(3))
        }
    }

    @Test(
        arguments: [
            (nil, .connectionLost), (399, .connectionLost), (400, .proxyRefused), (403, .proxyRefused),
            (407, .proxyRefused), (408, .connectionLost), (429, .connectionLost), (499, .proxyRefused),
            (500, .connectionLost), (503, .connectionLost),
        ] as [(Int?, LinkspanError.Code)])
    func `a proxy refuses for good with a status that says so`(status: Int?, code: LinkspanError.Code) {
        #expect(Self.code(ByteStreamError(.proxyRefused, "no", status: status)) == code)
        #expect(Self.code(ByteStreamError(.proxyUnauthorized, "no", status: status)) == code)
        let error = LinkspanError(
            .stream(ByteStreamError(.proxyRefused, "no", status: status, retryAfter: .seconds(3))))
        #expect(error.retryAfter == .seconds(3) && error.message == "no")
    }

    @Test(
        arguments: [
            (.invalidRequest, .invalidConfiguration), (.requestTooLong, .invalidConfiguration),
            (.nameNotResolved, .nameNotResolved), (.unreachable, .connectionLost), (.timedOut, .timedOut),
            (.tlsUnusable, .invalidConfiguration), (.redirected, .redirected),
            (.handshakeMalformed, .protocolViolation), (.answerHeadTooLong, .protocolViolation),
            (.closedByPeer, .connectionLost), (.tls(.handshakeCut), .connectionLost), (.tls(.expired), .tlsFailed),
            (.tls(.other), .tlsFailed),
        ] as [(ByteStreamError.Code, LinkspanError.Code)])
    func `the end of a stream has one of the codes of the SDK`(code: ByteStreamError.Code, own: LinkspanError.Code) {
        let error = LinkspanError(.stream(ByteStreamError(code, "why")))
        #expect(error.code == own && error.message == "why")
        #expect(error.tlsFailure == code.tlsFailure)
    }

    @Test(
        arguments: [
            (1000, .connectionLost), (1001, .connectionLost), (1003, .messageRefused), (1007, .messageRefused),
            (1008, .refused), (1009, .messageRefused), (1010, .protocolViolation), (1011, .connectionLost),
            (1012, .serverUnavailable), (1013, .serverUnavailable), (1014, .serverUnavailable),
            (4401, .credentialsRefused), (4403, .refused), (4404, .connectionLost),
        ] as [(UInt16, LinkspanError.Code)])
    func `the code of a Close frame decides`(code: UInt16, own: LinkspanError.Code) {
        let error = LinkspanError(.closed(CloseEvent(code: .init(rawValue: code), reason: "")))
        #expect(error.code == own && error.message == "the server closed the connection with code \(code)")
    }

    @Test(
        arguments: [
            ("HTTP/1.1 503 X\r\n\r\n \n busy\nnow", 503, "busy\\u{a}now"), ("HTTP/1.1 400", 400, nil),
            ("HTTP/1.1 400 X\r\nA: b\r\n\r\n", 400, nil),
        ] as [(String, Int, Substring?)])
    func `a refusal in HTTP after the upgrade has its status and its text`(
        chunk: String, status: Int, text: Substring?
    ) throws {
        guard case .stream(let error) = try #require(WebSocketEnd(lateRefusal: Array(chunk.utf8))) else { return }
        #expect(error.code == .refusedAfterUpgrade && error.status == status && error.lateText == text)
        #expect(error.message.hasPrefix("the server answered with status \(status) after it accepted the upgrade"))
    }

    @Test(arguments: ["", "HTTP/1.0 400", "HTTP/1.1 x00", "HTTP/1.1", "\u{81}\u{1}x"])
    func `what begins otherwise is no refusal in HTTP`(chunk: String) {
        #expect(WebSocketEnd(lateRefusal: Array(chunk.utf8)) == nil)
    }

    @Test(arguments: [1, 2, 5, 9, 11, 12, 40])
    func `the start of a refusal is kept until its status is there, however it is cut`(size: Int) {
        let answer = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
        var (start, seen, isFirst) = (RefusalStart(), [UInt8](), true)
        for index in stride(from: 0, to: answer.count, by: size) {
            guard let read = start.take(Array(answer[index..<min(index + size, answer.count)])) else { continue }
            if isFirst { #expect(read.count >= 12) }
            isFirst = false
            seen += read
        }
        #expect(seen == answer)
        var other = RefusalStart()
        let (kept, rest) = (other.take([72, 84]), other.take([0x81]))
        #expect(kept == nil && rest == [72, 84, 0x81])
        let next = other.take([72])
        #expect(next == [72], "later chunks are not looked at")
    }
}

/// The pauses of a connection whose messages are decompressed.
@Suite struct InflationBudgetTests {
    private static let mebibyte = 1 << 20

    @Test(arguments: [0, 1, 2, 16])
    func `a pause has 5 ms for each whole megabyte`(megabytes: Int) {
        var budget = InflationBudget()
        let pause: Duration? = megabytes == 0 ? nil : .milliseconds(5 * megabytes)
        let isDue = budget.pauses(after: megabytes * Self.mebibyte + 5)
        #expect(isDue == (pause != nil))
        #expect(budget.pause == pause)
        let isDueAgain = budget.pauses(after: megabytes * Self.mebibyte + 5)
        #expect(!isDueAgain, "it is taken once")
    }

    @Test(arguments: [1_000, 1 << 19, 3 << 19, 7 << 20])
    func `what is left of a megabyte counts towards the next pause`(step: Int) {
        var budget = InflationBudget()
        var sum = Duration.zero
        for number in 1...100 where budget.pauses(after: number * step) { sum += budget.pause ?? .zero }
        #expect(sum == .milliseconds(5 * ((100 * step) / Self.mebibyte)))
    }
}
