internal import LinkspanTesting
@testable internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("WebSocket session")
struct WebSocketSessionTests {
    /// A session, what it wrote, and what it reported.
    private struct End {
        var session: WebSocketSession
        var output: [UInt8] = []
        let role: WebSocketRole

        init(_ role: WebSocketRole, limits: WebSocketLimits = .init()) {
            self.role = role
            let masks = MaskSource(seed: 7)
            self.session = WebSocketSession(role: role, limits: limits, masks: masks)
        }

        mutating func receive(_ bytes: [UInt8]) -> [WebSocketSession.Event] {
            self.session.receive(bytes[...])
            var events: [WebSocketSession.Event] = []
            while let event = self.session.next(into: &self.output) { events.append(event) }
            return events
        }

        /// Takes the output, as the peer reads it.
        mutating func written() -> [FrameDecoder.Incoming] {
            defer { self.output = [] }
            return FrameDecoder.decode(self.output, role: self.role == .client ? .server : .client).incoming
        }

        mutating func sendHello() -> Bool {
            self.session.send(.text, payload: WebSocketSessionTests.hello, into: &self.output)
        }

        mutating func ping(_ payload: [UInt8] = []) -> Bool {
            self.session.ping(payload, into: &self.output)
        }

        mutating func close(_ code: CloseCode? = .normal, _ reason: String = "") -> Bool {
            self.session.close(code, reason: reason, into: &self.output)
        }
    }

    private static func closed(
        _ code: CloseCode, _ reason: String = "", stream: WebSocketSession.StreamEnd
    ) -> WebSocketSession.Event {
        .closed(CloseEvent(code: code, reason: reason), stream: stream)
    }

    private static let hello = Array("Hello".utf8)

    @Test
    func `two sessions exchange messages in every form of sending`() throws {
        for role in WebSocketRole.allCases {
            var sender = End(role)
            var receiver = End(role == .client ? .server : .client)
            let didSend = [
                sender.session.send(.text, payload: Self.hello, into: &sender.output),
                sender.session.send(.binary, length: Self.hello.count, into: &sender.output) {
                    $0.append(contentsOf: Self.hello)
                },
            ]
            #expect(didSend == [true, true])
            let events = receiver.receive(sender.output)
            #expect(events == [.text(Self.hello[...]), .binary(Self.hello[...])])
        }
    }

    @Test
    func `a client masks each frame anew and a server none`() {
        var client = End(.client)
        var server = End(.server)
        for _ in 0..<3 {
            #expect(client.sendHello() == true)
            #expect(server.sendHello() == true)
        }
        let keys = stride(from: 0, to: 33, by: 11).map { Array(client.output[($0 + 2)..<($0 + 6)]) }
        #expect(Set(keys).count == 3)
        #expect(server.output == [[UInt8]](repeating: Wire.frame(0x81, Self.hello), count: 3).flatMap { $0 })
    }

    @Test
    func `each ping is answered with its payload, in order, also between fragments`() {
        var client = End(.client)
        let pings = (0..<10).flatMap { Wire.frame(0x89, [UInt8($0)]) }
        let events = client.receive(Wire.frame(0x01, [0x61]) + pings + Wire.frame(0x80, [0x62]))
        #expect(events == [.text([0x61, 0x62])])
        #expect(client.written() == (0..<10).map { .pong([UInt8($0)]) })
    }

    @Test
    func `pings are events when they are asked for, in order with the messages, and not answered unless wanted`() {
        let bytes = Wire.frame(0x81, [0x61]) + Wire.frame(0x89, [1]) + Wire.frame(0x89, [2]) + Wire.frame(0x82, [3])
        for answersPings in [true, false] {
            var client = End(.client)
            (client.session.answersPings, client.session.reportsPings) = (answersPings, true)
            #expect(client.receive(bytes) == [.text([0x61]), .ping([1]), .ping([2]), .binary([3])])
            #expect(client.written() == (answersPings ? [.pong([1]), .pong([2])] : []))
        }
    }

    @Test
    func `pings and pongs of the owner's own are sent while the connection is open`() {
        var client = End(.client)
        for opcode in [Opcode.ping, .pong] {
            #expect(client.session.sendControl(opcode, payload: [1, 2], into: &client.output))
        }
        #expect(client.written() == [.ping([1, 2]), .pong([1, 2])])
        #expect(!client.session.isAwaitingPong)
        _ = client.receive(Wire.frame(0x88))
        _ = client.written()
        #expect(!client.session.sendControl(.pong, payload: [1], into: &client.output))
        #expect(client.written().isEmpty)
    }

    @Test
    func `pings of several chunks are no flood, and none is answered behind a Close frame`() {
        var client = End(.client, limits: .init { $0.maxPongsPerChunk = 4 })
        for chunk in 0..<3 {
            let numbers = (0..<3).map { UInt8(3 * chunk + $0) }
            #expect(client.receive(numbers.flatMap { Wire.frame(0x89, [$0]) }).isEmpty)
            #expect(client.written() == numbers.map { .pong([$0]) })
        }
        let flood = (0..<100).flatMap { Wire.frame(0x89, [UInt8($0)]) }
        _ = client.receive(flood + Wire.frame(0x88))
        let written = client.written()
        #expect(written.prefix(3) == [.pong([0]), .pong([1]), .pong([2])])
        #expect(written.count == 4)
    }

    @Test
    func `of a flood of pings in one chunk the first few and the newest are answered`() {
        var client = End(.client, limits: .init { $0.maxPongsPerChunk = 4 })
        let flood = (0..<100).flatMap { Wire.frame(0x89, [UInt8($0)]) }
        #expect(client.receive(flood).isEmpty)
        #expect(client.written() == [.pong([0]), .pong([1]), .pong([2]), .pong([99])])
        #expect(client.receive(Wire.frame(0x89, [7])).isEmpty)
        #expect(client.written() == [.pong([7])])
    }

    @Test(arguments: [
        WebSocketProtocolError.Code.controlFlood, .messageOverdue,
    ])
    func `its owner can fail it, which the peer learns once`(_ code: WebSocketProtocolError.Code) {
        var client = End(.client)
        #expect(client.receive(Wire.frame(0x89, [1]) + Wire.frame(0x8A) + Wire.frame(0x01, [0x61])).count == 1)
        #expect(client.session.controlFrames == 2)
        #expect(client.session.unfinishedBytes == 1)
        var output: [UInt8] = []
        let event = client.session.fail(code, "too much", into: &output)
        #expect(event?.violation?.code == code)
        #expect(event?.code == .policyViolation)
        #expect(!output.isEmpty)
        #expect(client.session.unfinishedBytes == nil || !client.session.isOpen)
        #expect(client.session.fail(code, "too much", into: &output) == nil)
    }

    @Test
    func `a ping in the midst of a message is unfinished beside it`() {
        var client = End(.client)
        #expect(client.receive(Wire.frame(0x01, [0x61, 0x62]) + Wire.frame(0x89, [1, 2, 3, 4]).dropLast()).isEmpty)
        #expect(client.session.unfinishedBytes == 2 + 3)
    }

    @Test
    func `a ping is awaited until its own payload comes back`() {
        var client = End(.client)
        #expect(!client.session.isAwaitingPong)
        #expect(client.ping([1]) == true)
        #expect(client.ping([2]) == true)
        #expect(client.written() == [.ping([1]), .ping([2])])
        #expect(client.receive(Wire.frame(0x8A, [1])) == [.pong([1], answersPing: false)])
        #expect(client.session.isAwaitingPong)
        #expect(client.receive(Wire.frame(0x8A, [2])) == [.pong([2], answersPing: true)])
        #expect(!client.session.isAwaitingPong)
        #expect(client.receive(Wire.frame(0x8A)) == [.pong([], answersPing: false)])
    }

    @Test
    func `the peer's Close is echoed once with its code, then nothing is sent or reported`() {
        let ways: [(WebSocketRole, [UInt8]?, WebSocketSession.StreamEnd)] = [
            (.client, nil, .awaitPeer), (.server, [1, 2, 3, 4], .drop),
        ]
        for (role, mask, stream) in ways {
            var end = End(role)
            let close = Wire.frame(0x88, [0x0F, 0xA0] + Array("bye".utf8), mask: mask)
            let events = end.receive(close + close + Wire.frame(0x81, Self.hello, mask: mask))
            #expect(events == [Self.closed(CloseCode(rawValue: 4000), "bye", stream: stream)])
            #expect(end.written() == [.close(CloseCode(rawValue: 4000), reason: "")])
            #expect(end.receive(close).isEmpty)
            #expect(end.sendHello() == false)
            #expect(end.ping() == false)
            #expect(end.close() == false)
            #expect(end.output.isEmpty)
        }
    }

    @Test
    func `a Close without a code is echoed without one and reported as 1005`() {
        var client = End(.client)
        #expect(client.receive([0x88, 0]) == [Self.closed(.noStatus, stream: .awaitPeer)])
        #expect(client.written() == [.close(nil, reason: "")])
    }

    @Test
    func `after its own Close a session ignores data and pings and ends with the peer's Close`() {
        var client = End(.client)
        #expect(client.close(.goingAway, "moving") == true)
        #expect(client.written() == [.close(.goingAway, reason: "moving")])
        #expect(client.close() == false)
        #expect(!client.session.isOpen)
        #expect(client.sendHello() == false)
        let late = Wire.frame(0x81, Self.hello) + Wire.frame(0x89, [1]) + Wire.frame(0x82, [2])
        #expect(client.receive(late).isEmpty)
        let events = client.receive(Wire.frame(0x88, [0x03, 0xE9]))
        #expect(events == [Self.closed(.goingAway, stream: .awaitPeer)])
        #expect(client.output.isEmpty)
    }

    @Test
    func `two sessions that close at the same time both end cleanly without an echo`() {
        var client = End(.client)
        var server = End(.server)
        #expect(client.close(.normal) == true)
        #expect(server.close(CloseCode(rawValue: 1012)) == true)
        let (fromClient, fromServer) = (client.output, server.output)
        (client.output, server.output) = ([], [])
        #expect(client.receive(fromServer) == [Self.closed(CloseCode(rawValue: 1012), stream: .awaitPeer)])
        #expect(server.receive(fromClient) == [Self.closed(.normal, stream: .drop)])
        #expect(client.output.isEmpty && server.output.isEmpty)
    }

    @Test(arguments: [([0xC1] as [UInt8], CloseCode.protocolError), ([0x81, 1, 0xFF], .invalidPayload)])
    func `a broken rule gives what came before it, a Close with its code and the end`(bytes: [UInt8], code: CloseCode) {
        var client = End(.client)
        let events = client.receive(Wire.frame(0x81, Self.hello) + Wire.frame(0x89, [1]) + bytes)
        #expect(events.first == .text(Self.hello[...]))
        guard case .closed(let event, stream: .drop) = events.last else {
            Issue.record("no end in \(events)")
            return
        }
        #expect(event.code == code)
        #expect(event.violation != nil)
        #expect(event.violation?.closeCode == code)
        let written = client.written()
        #expect(written.count == 2)
        #expect(written.first == .pong([1]))
        #expect(written.last == .close(code, reason: event.violation?.message ?? ""))
        #expect(client.receive(Wire.frame(0x81, Self.hello)).isEmpty)
    }

    @Test
    func `a rule broken while closing ends the session without a second Close`() {
        var client = End(.client)
        #expect(client.close() == true)
        client.output = []
        let events = client.receive([0xC1])
        guard case .closed(let event, stream: .drop) = events.first else {
            Issue.record("no end in \(events)")
            return
        }
        #expect(event.violation != nil)
        #expect(client.output.isEmpty)
    }

    @Test
    func `a message over the limit is closed with 1009`() {
        var client = End(.client, limits: .init { $0.maxMessageBytes = 10 })
        #expect(client.receive(Wire.frame(0x82, [UInt8](repeating: 0, count: 11))).count == 1)
        let reason = "a message is larger than the 10 bytes that are accepted here"
        #expect(client.written() == [.close(.messageTooBig, reason: reason)])
    }

    @Test(.timeLimit(.minutes(1)))
    func `whatever arrives, a session ends at most once and writes at most one Close`() {
        var random = SeededGenerator(seed: 8)
        for round in 0..<20_000 {
            var end = End(round.isMultiple(of: 2) ? .client : .server, limits: .init { $0.maxPongsPerChunk = 2 })
            var ends = 0
            for _ in 0..<4 {
                var bytes = random.bytes(Int.random(in: 1...12, using: &random))
                bytes[0] = [0x81, 0x88, 0x89, 0x8A, bytes[0]][Int.random(in: 0..<5, using: &random)]
                if bytes.count > 1 { bytes[1] &= end.role == .client ? 0x0F : 0x8F }
                for event in end.receive(bytes) {
                    if case .closed = event { ends += 1 }
                }
                if Int.random(in: 0..<8, using: &random) == 0 { _ = end.close() }
            }
            let closes = end.written().count { incoming in
                if case .close = incoming { true } else { false }
            }
            if ends > 1 || closes > 1 { Issue.record("round \(round): \(ends) ends, \(closes) Close frames") }
        }
    }
}
