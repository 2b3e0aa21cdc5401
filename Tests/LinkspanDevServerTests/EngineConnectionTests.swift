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
    private let connection: ServerConnection

    init() throws {
        let (loop, stream) = (ScriptedLoop { _, _ in }, RecordingStream())
        let configuration = DevServer.Configuration()
        let run = ServerRun(
            configuration, rules: try AccessRules(configuration), hubs: [:], condition: ServerCondition(port: 0),
            loop: loop)
        (self.loop, self.stream) = (loop, stream)
        self.connection = loop.enter { ServerConnection(stream: stream, run: run) }
    }

    /// Has bytes arrive.
    ///
    /// - Returns: how many times the session looked at its timer, and the parser moved its buffer, because of them.
    private func receive(_ bytes: [UInt8]) -> Int {
        let steps = Lock(0)
        Growth.$onStep.withValue({ steps.withLock { $0 += 1 } }) {
            self.loop.enter { self.connection.received(bytes) }
        }
        return steps.withLock { $0 }
    }

    @Test
    func `a POST of ten thousand packets sets the timer of its session once`() throws {
        _ = self.receive(Array("GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        let words = self.stream.text.split(separator: "\"")
        try #require(words.count > 3 && words[1] == "sid")
        let body = Array(repeating: "6", count: 10_000).joined(separator: "\u{1E}")
        let head =
            "POST /socket.io/?EIO=4&transport=polling&sid=\(words[3]) HTTP/1.1\r\nHost: localhost\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n"
        let steps = self.receive(Array((head + body).utf8))
        // The parser's step is that for the handshake.
        #expect(steps <= 2)
        #expect(self.stream.text.hasSuffix("ok"))
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
