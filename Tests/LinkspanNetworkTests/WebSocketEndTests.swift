internal import Linkspan
internal import LinkspanWebSocketProtocol
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
