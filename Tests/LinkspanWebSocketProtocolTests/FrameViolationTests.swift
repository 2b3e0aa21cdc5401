internal import Testing

@testable internal import LinkspanWebSocketProtocol

@Suite("Violations of the framing rules")
struct FrameViolationTests {
    struct Violation: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var code: WebSocketProtocolError.Code
        var role = WebSocketRole.client

        init(_ name: String, _ bytes: [UInt8], _ code: WebSocketProtocolError.Code, role: WebSocketRole = .client) {
            self.testDescription = name
            self.bytes = bytes
            self.code = code
            self.role = role
        }
    }

    static let named: [Violation] = [
        Violation("RSV1 on text", [0xC1, 0], .reservedBits),
        Violation("RSV2 on binary", [0xA2, 0], .reservedBits),
        Violation("RSV3 on ping", [0x99, 0], .reservedBits),
        Violation("RSV1 on close", [0xC8, 0], .reservedBits),
        Violation("RSV1 on a continuation", [0x01, 0, 0xC0, 0], .reservedBits),
        Violation("fragmented ping", [0x09, 0], .fragmentedControl),
        Violation("fragmented pong", [0x0A, 0], .fragmentedControl),
        Violation("fragmented close", [0x08, 0], .fragmentedControl),
        Violation("ping of 126 bytes", Wire.frame(0x89, [UInt8](repeating: 0, count: 126)), .oversizedControl),
        Violation("pong with a long length", [0x8A, 127], .oversizedControl),
        Violation("close of 126 bytes", [0x88, 126, 0, 126], .oversizedControl),
        Violation("continuation of nothing", [0x80, 0], .unexpectedContinuation),
        Violation("unfinished continuation of nothing", [0x00, 0], .unexpectedContinuation),
        Violation("continuation after a whole message", [0x81, 0, 0x80, 0], .unexpectedContinuation),
        Violation("continuation after a fragmented one", [0x01, 0, 0x80, 0, 0x80, 0], .unexpectedContinuation),
        Violation("text inside text", [0x01, 0, 0x81, 0], .interruptedMessage),
        Violation("binary inside text", [0x01, 0, 0x02, 0], .interruptedMessage),
        Violation("text after a ping inside binary", [0x02, 0, 0x89, 0, 0x01, 0], .interruptedMessage),
        Violation("masked frame from a server", Wire.frame(0x81, [], mask: [1, 2, 3, 4]), .maskForbidden),
        Violation("unmasked frame from a client", Wire.frame(0x81), .maskMissing, role: .server),
        Violation("unmasked ping from a client", Wire.frame(0x89), .maskMissing, role: .server),
        Violation("125 written as 16 bits", [0x82, 126, 0, 125], .lengthNotMinimal),
        Violation("65,535 written as 64 bits", [0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], .lengthNotMinimal),
        Violation("a length of 2^63", [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], .lengthOutOfRange),
        Violation("a length of 2^64-1", [0x82, 127] + [UInt8](repeating: 0xFF, count: 8), .lengthOutOfRange),
        Violation("a length of 2^63-1", [0x82, 127, 0x7F] + [UInt8](repeating: 0xFF, count: 7), .messageTooBig),
        Violation("close with half a code", [0x88, 1, 3], .closePayloadTooShort),
        Violation("close reason no UTF-8", Wire.frame(0x88, [0x03, 0xE8, 0xCE]), .invalidUTF8),
        Violation("text no UTF-8", Wire.frame(0x81, [0xFF]), .invalidUTF8),
        Violation("text ends inside a character", Wire.frame(0x81, [0xCE]), .invalidUTF8),
        Violation(
            "fragmented text ends inside a character", Wire.frame(0x01, [0xCE]) + Wire.frame(0x80), .invalidUTF8),
    ]

    @Test(arguments: named)
    func `are refused by name, in one chunk and byte by byte`(violation: Violation) {
        #expect(FrameDecoder.decode(violation.bytes, role: violation.role).error == violation.code)
        var decoder = FrameDecoder(role: violation.role)
        let drained = decoder.drain(violation.bytes.indices.map { violation.bytes[$0...$0] })
        #expect(drained.error == violation.code)
    }

    @Test(arguments: Array(3...7) + Array(11...15))
    func `reserved opcodes are refused at their first byte`(opcode: UInt8) {
        for first in [opcode, opcode | 0x80] {
            #expect(FrameDecoder.decode([first]).error == .reservedOpcode)
        }
    }

    @Test
    func `tell the peer 1002, 1007 or 1009`() throws {
        func closeCode(_ bytes: [UInt8]) throws -> CloseCode? {
            var decoder = FrameDecoder(role: .client)
            decoder.append(bytes[...])
            let error = try #require(throws: WebSocketProtocolError.self) { try decoder.next() }
            return error.closeCode
        }
        #expect(try closeCode([0xC1]) == .protocolError)
        #expect(try closeCode([0x81, 1, 0xFF]) == .invalidPayload)
        #expect(try closeCode([0x88, 3, 3, 0xE8, 0xFF]) == .invalidPayload)
        #expect(try closeCode([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0]) == .messageTooBig)
    }

    @Test
    func `every close code is taken or refused as RFC 6455 section 7.4 says`() {
        var accepted: [ClosedRange<Int>] = []
        for code in 0...65535 {
            let drained = FrameDecoder.decode(Wire.frame(0x88, Wire.number(code, bytes: 2)))
            if drained.incoming == [.close(CloseCode(rawValue: UInt16(code)), reason: "")] {
                if let last = accepted.last, last.upperBound == code - 1 {
                    accepted[accepted.count - 1] = last.lowerBound...code
                } else {
                    accepted.append(code...code)
                }
            } else {
                #expect(drained == Drained(error: .closeCodeInvalid))
            }
        }
        #expect(accepted == [1000...1003, 1007...1014, 3000...4999])
    }

    @Test(arguments: [
        (WebSocketProtocolError.Code.messageTooBig, true), (.tooManyFragments, true), (.controlFlood, true),
        (.messageOverdue, true), (.invalidUTF8, false), (.reservedBits, false),
    ])
    func `what is within the protocol but too much is a limit`(code: WebSocketProtocolError.Code, isLimit: Bool) {
        #expect(WebSocketProtocolError(code, "").isLimit == isLimit)
    }

    @Test
    func `a message may be as big as the limit and not a byte bigger, known from the header alone`() {
        let limits = WebSocketLimits { $0.maxMessageBytes = 300 }
        let full = [UInt8](repeating: 0x61, count: 300)
        #expect(FrameDecoder.decode(Wire.frame(0x81, full), limits: limits).incoming.count == 1)
        #expect(FrameDecoder.decode([0x81, 126, 1, 45], limits: limits).error == .messageTooBig)
        let halves = Wire.frame(0x01, Array(full[..<200])) + Wire.frame(0x80, Array(full[200...]))
        #expect(FrameDecoder.decode(halves, limits: limits).incoming.count == 1)
        let tooMuch = Wire.frame(0x01, Array(full[..<200])) + [0x80, 101]
        #expect(FrameDecoder.decode(tooMuch, limits: limits) == Drained(error: .messageTooBig))
        let ping = Wire.frame(0x01, full) + Wire.frame(0x89, [1])
        #expect(FrameDecoder.decode(ping, limits: limits) == Drained(incoming: [.ping([1])]))
    }

    @Test
    func `a message may have as many fragments as the limit and not one more, pings not counted`() {
        let limits = WebSocketLimits { $0.maxFragments = 3 }
        let three = Wire.frame(0x02) + Wire.frame(0x00) + Wire.frame(0x89)
        #expect(FrameDecoder.decode(three + Wire.frame(0x80), limits: limits).incoming == [.ping([]), .binary([])])
        let four = three + Wire.frame(0x00) + Wire.frame(0x80)
        #expect(FrameDecoder.decode(four, limits: limits).error == .tooManyFragments)
    }

    @Test
    func `a length that is only announced reserves little, and what arrives never more than the limit`() throws {
        let frame = FrameHeader(
            opcode: .binary, isFinal: true, isCompressed: false, mask: nil, length: 16 * 1024 * 1024, size: 10)
        var message = PartialMessage()
        message.beginFrame(frame)
        try message.append([1], of: frame, limit: 4_000_000)
        #expect(message.capacity < 70_000)
        try message.append([UInt8](repeating: 2, count: 499_999)[...], of: frame, limit: 4_000_000)
        #expect((500_000..<550_000).contains(message.capacity))
        try message.append([UInt8](repeating: 3, count: 100_000)[...], of: frame, limit: 4_000_000)
        #expect((3_999_000..<4_100_000).contains(message.capacity))
    }
}

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
