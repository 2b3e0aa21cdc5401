internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol
internal import Testing

@testable import LinkspanDevServer

/// A session whose client sends very many packets at once.
@Suite
struct EngineConnectionTests {
    private let loop: ScriptedLoop
    private let stream: RecordingStream
    private let run: ServerRun
    private let connection: ServerConnection

    init() throws {
        let (loop, stream) = (ScriptedLoop { _, _ in }, RecordingStream())
        let configuration = DevServer.Configuration()
        let run = ServerRun(
            configuration, rules: try AccessRules(configuration), hubs: [:], faults: Lock(ServerFaults()),
            loop: loop)
        (self.loop, self.stream, self.run) = (loop, stream, run)
        self.connection = loop.enter { ServerConnection(stream: stream, run.context, server: run) }
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
                ServerConnection(stream: second, self.run.context, server: self.run).received(post(["6"]))
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
