internal import Testing

@testable import LinkspanWebSocketProtocol

/// What has gone wrong in other implementations, each by its public number.
@Suite("CVE: WebSocket")
struct CVETests {
    private static let limits = WebSocketLimits { $0.maxMessageBytes = 1 << 20 }

    private static func error(_ bytes: [UInt8]) -> WebSocketProtocolError.Code? {
        FrameDecoder.decode(bytes, limits: Self.limits).error
    }

    @Test
    func `CVE-2016-10542, CVE-2022-35922: a declared length is refused before a byte of it is kept or reserved`() {
        for length in [(1 << 20) + 1, 1 << 32, 1 << 62] {
            let header: [UInt8] = [0x82, 127] + Wire.number(length, bytes: 8)
            #expect(Self.error(header) == .messageTooBig)
        }
        #expect(Self.error([0x82, 127] + [UInt8](repeating: 0xFF, count: 8)) == .lengthOutOfRange)
    }

    @Test
    func `CVE-2026-44545: no limit can be switched off by a zero`() {
        #expect(WebSocketLimits().maxMessageBytes > 0)
        #expect(WebSocketLimits().maxFragments > 0)
        #expect(WebSocketLimits().maxPongsPerChunk > 0)
    }

    @Test(arguments: [0, 1])
    func `CVE-2026-48779, CVE-2026-42786: fragments, tiny ones and endless ones, have a limit`(_ size: Int) {
        let payload = [UInt8](repeating: 0x61, count: size)
        let stream = Wire.frame(0x01, payload) + (0..<1024).flatMap { _ in Wire.frame(0x00, payload) }
        #expect(Self.error(stream) == .tooManyFragments)
        #expect(Self.error(Array(stream.dropLast(2 + size))) == nil)
    }

    @Test
    func `GHSA-frh3-6pv6-rc8j: a compressed message is refused when no compression was agreed on`() {
        #expect(Self.error(Wire.frame(0xC1, [1, 2, 3])) == .reservedBits)
    }

    @Test
    func `CVE-2016-10518, CVE-2026-45736: what is echoed is what has come, and no more`() {
        var session = WebSocketSession(role: .client)
        var output: [UInt8] = []
        session.receive(Wire.frame(0x89, [1, 2, 3])[...])
        #expect(session.next(into: &output) == nil)
        #expect(FrameDecoder.decode(output, role: .server).incoming == [.pong([1, 2, 3])])
        output = []
        session.receive((Wire.frame(0x88, Wire.number(1000, bytes: 2) + Array("secret".utf8)))[...])
        _ = session.next(into: &output)
        #expect(FrameDecoder.decode(output, role: .server).incoming == [.close(.normal, reason: "")])
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [",", " ", "a,", "\t "])
    func `CVE-2021-32640, CVE-2024-37890: a header of many parts is read in a moment`(_ part: String) throws {
        let handshake = try ClientHandshake(nonce: (1, 2))
        let long = String(repeating: part, count: 16_384 / part.utf8.count)
        #expect(throws: WebSocketProtocolError.self) {
            try handshake.verify(status: 101) { $0 == "upgrade" ? ["websocket"] : [long] }
        }
    }
}
