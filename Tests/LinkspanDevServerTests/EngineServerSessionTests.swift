internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol
internal import Testing

@testable import LinkspanDevServer

/// One Engine.IO session as a value, without clock and network.
@Suite
struct EngineServerSessionTests {
    private static let timing = EngineServerSession.Timing(
        pingInterval: .seconds(25), pingTimeout: .seconds(20), upgradeTimeout: .seconds(10))
    private let start = ContinuousClock.now

    private func session(overWebSocket: Bool = false, maximumWaiting: Int = 1_000) -> EngineServerSession {
        EngineServerSession(
            timing: Self.timing, overWebSocket: overWebSocket, maximumWaiting: maximumWaiting, now: self.start)
    }

    private static func text(_ text: String) -> WebSocketMessage { .text(Array(text.utf8)[...]) }

    /// What the effects say, in short.
    private static func words(_ effects: [EngineServerSession.Effect]) -> [String] {
        func word(_ message: WebSocketMessage) -> String {
            switch message {
            case .text(let text): String(decoding: text, as: UTF8.self)
            case .binary(let data): "<\(data.count)>"
            }
        }
        return effects.map { effect in
            switch effect {
            case .answerPoll(let packets): "answer \(packets.map(word).joined(separator: "|"))"
            case .send(let frame): "send \(word(frame))"
            case .deliver(let message): "deliver \(word(message))"
            case .dropTried: "drop"
            case .end(let ending): "end \(ending)"
            }
        }
    }

    @Test
    func `a poll waits until there is something, and takes what has gathered`() {
        var session = self.session()
        #expect(Self.words(session.poll().effects) == [])
        #expect(Self.words(session.send([Self.text("4a")])) == ["answer 4a"])
        #expect(Self.words(session.send([Self.text("4b")])) == [])
        #expect(Self.words(session.send([Self.text("4c"), .binary([1, 2])])) == [])
        #expect(Self.words(session.poll().effects) == ["answer 4b|4c|<2>"])
    }

    @Test
    func `a second poll at a time ends the session, and so does one that is gone`() {
        var session = self.session()
        _ = session.poll()
        let second = session.poll()
        #expect(!second.isTaken)
        #expect(Self.words(second.effects) == ["answer 1", "end violation"])
        var lost = self.session()
        _ = lost.poll()
        #expect(Self.words(lost.pollLost()) == ["answer 6", "end closedByClient"])
        var closed = self.session()
        _ = closed.poll()
        #expect(Self.words(closed.received(Self.text("1"), now: self.start)) == ["answer 6", "end closedByClient"])
    }

    @Test
    func `packets are bounded until they are fetched, or carried over to a WebSocket`() {
        // 11 bytes in the answer to a poll.
        let packet = Self.text("4123456789")
        var session = self.session(maximumWaiting: 22)
        for _ in 0..<3 {
            #expect(Self.words(session.send([packet]) + session.send([packet])) == [])
            #expect(session.waitingBytes == 22)
            #expect(Self.words(session.poll().effects) == ["answer 4123456789|4123456789"])
            #expect(session.waitingBytes == 0)
        }
        _ = session.tryWebSocket(now: self.start)
        #expect(Self.words(session.send([packet, packet])) == [])
        _ = session.webSocketReceived(Self.text("2probe"), now: self.start)
        let carried = session.webSocketReceived(Self.text("5"), now: self.start)
        #expect(Self.words(carried) == ["send 4123456789", "send 4123456789"] && session.waitingBytes == 0)
        var other = self.session(maximumWaiting: 22)
        #expect(Self.words(other.send([packet, packet, Self.text("")])) == ["end overflow"])
    }

    @Test
    func `an upgrade is probed, releases the poll, and carries what waited`() {
        var session = self.session()
        let isTried = session.tryWebSocket(now: self.start)
        #expect(isTried)
        let isTriedTwice = session.tryWebSocket(now: self.start)
        #expect(!isTriedTwice)
        _ = session.poll()
        let probed = session.webSocketReceived(Self.text("2probe"), now: self.start)
        #expect(Self.words(probed) == ["send 3probe", "answer 6"])
        #expect(Self.words(session.poll().effects) == ["answer 6"])
        #expect(Self.words(session.send([Self.text("4a")])) == [])
        #expect(Self.words(session.webSocketReceived(Self.text("5"), now: self.start)) == ["send 4a"])
        #expect(!session.isPolling)
        #expect(Self.words(session.send([Self.text("4b")])) == ["send 4b"])
        let late = session.poll()
        #expect(!late.isTaken && late.effects.isEmpty)
        #expect(Self.words(session.send([Self.text("4c")])) == ["send 4c"])
    }

    @Test
    func `an upgrade that fails, breaks the rules or takes too long leaves the polling alone`() {
        for attempt in 0..<4 {
            var session = self.session()
            _ = session.tryWebSocket(now: self.start)
            let effects =
                switch attempt {
                case 0: session.webSocketLost()
                case 1: session.webSocketReceived(Self.text("4early"), now: self.start)
                // A ping that does not say that it is a probe.
                case 2: session.webSocketReceived(Self.text("2"), now: self.start)
                default: session.timer(now: self.start + .seconds(10))
                }
            #expect(Self.words(effects) == ["drop"])
            #expect(session.nextDeadline == self.start + .seconds(25))
            _ = session.poll()
            #expect(Self.words(session.send([Self.text("4a")])) == ["answer 4a"])
        }
    }

    @Test
    func `pings go out, pongs put the next one off, and silence ends the session`() {
        var session = self.session(overWebSocket: true)
        #expect(session.nextDeadline == self.start + .seconds(25))
        #expect(Self.words(session.timer(now: self.start + .seconds(25))) == ["send 2"])
        #expect(session.nextDeadline == self.start + .seconds(45))
        _ = session.webSocketReceived(Self.text("3"), now: self.start + .seconds(30))
        #expect(session.nextDeadline == self.start + .seconds(55))
        _ = session.timer(now: self.start + .seconds(55))
        #expect(Self.words(session.timer(now: self.start + .seconds(75))) == ["end heartbeatMissed"])
        #expect(session.nextDeadline == nil)
    }

    @Test
    func `a client's messages are delivered, its goodbye and its mistakes end the session`() {
        var session = self.session(overWebSocket: true)
        let now = self.start
        #expect(Self.words(session.webSocketReceived(Self.text("42[\"a\"]"), now: now)) == ["deliver 2[\"a\"]"])
        #expect(Self.words(session.webSocketReceived(.binary([1]), now: now)) == ["deliver <1>"])
        #expect(Self.words(session.webSocketReceived(Self.text("6"), now: now)) == [])
        var other = session
        #expect(Self.words(session.webSocketReceived(Self.text("1"), now: now)) == ["end closedByClient"])
        #expect(Self.words(other.webSocketReceived(Self.text("2"), now: now)) == ["end violation"])
        #expect(Self.words(session.webSocketReceived(Self.text("4late"), now: now)) == [])
    }
}

/// A session whose client sends very many packets at once.
@Suite
struct EngineConnectionTests {
    private let loop: ScriptedLoop
    private let stream: RecordingStream
    private let run: ServerRun
    private let connection: ServerConnection

    init() throws {
        let (loop, stream) = (ScriptedLoop { _, _ in }, RecordingStream())
        let configuration = DevServerConfiguration()
        let run = ServerRun(
            configuration, rules: try AccessRules(configuration), hubs: [:], faults: Lock(ServerFaults()),
            loop: loop)
        (self.loop, self.stream, self.run) = (loop, stream, run)
        self.connection = loop.enter { run.makeConnection(over: stream) }
    }

    /// Has bytes arrive.
    ///
    /// - Returns: how many times the session looked at its timer, and the parser moved its buffer, because of them.
    private func receive(_ bytes: [UInt8], _ turns: () -> Void = {}) -> Int {
        let steps = Lock(0)
        Growth.$onStep.withValue({ steps.withLock { $0 += 1 } }) {
            self.loop.enter { self.connection.received(bytes) }
            turns()
        }
        return steps.withLock { $0 }
    }

    /// Begins a session that polls.
    ///
    /// - Returns: what POSTs packets to it.
    private func begin() throws -> (_ packets: [String]) -> [UInt8] {
        _ = self.receive(Array("GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        let words = self.stream.text.split(separator: "\"")
        try #require(words.count > 3 && words[1] == "sid")
        return { packets in
            let body = packets.joined(separator: "\u{1E}")
            let head =
                "POST /socket.io/?EIO=4&transport=polling&sid=\(words[3]) HTTP/1.1\r\nHost: localhost\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n"
            return Array((head + body).utf8)
        }
    }

    @Test
    func `a POST of ten thousand packets lets others have their turn, and sets the timer of its session once a turn`()
        throws
    {
        let post = try self.begin()
        let steps = self.receive(post(Array(repeating: "6", count: 10_000))) {
            #expect(!self.stream.text.hasSuffix("ok"))
            self.loop.run()
        }
        // The parser's step is that for the handshake.
        #expect(steps <= 11)
        #expect(self.stream.text.hasSuffix("ok"))
    }

    @Test
    func `a POST ends at the first packet that is invalid`() throws {
        let post = try self.begin()
        _ = self.receive(post(Array(repeating: "", count: 1_000_000)))
        #expect(self.stream.text.contains("HTTP/1.1 400 "))
    }

    @Test
    func `a POST while another one is being handled ends the session`() throws {
        let post = try self.begin()
        let second = RecordingStream()
        _ = self.receive(post(Array(repeating: "6", count: 10_000))) {
            self.loop.enter {
                self.run.makeConnection(over: second).received(post(["6"]))
            }
        }
        #expect(second.text.hasPrefix("HTTP/1.1 400 "))
        self.loop.run()
        #expect(self.stream.text.contains("HTTP/1.1 400 "))
    }

    @Test
    func `a read of ten thousand frames sets the timer of their session once`() {
        _ = self.receive(
            Array(
                ("GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                    + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n").utf8))
        #expect(self.stream.text.hasPrefix("HTTP/1.1 101 "))
        var frames: [UInt8] = []
        for packet in Array(repeating: "6", count: 10_000) + ["1"] {
            FrameEncoder.append(.text, payload: Array(packet.utf8), mask: 0, to: &frames)
        }
        let steps = self.receive(frames)
        #expect(steps <= 2)
        // The last packet said goodbye.
        #expect(self.stream.hasEnded)
    }
}
