internal import LinkspanTesting
@testable internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("Violations of the compression rules")
struct CompressionViolationTests {
    struct Violation: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var code: WebSocketProtocolError.Code
        var closeCode: CloseCode

        init(_ name: String, _ bytes: [UInt8], _ code: WebSocketProtocolError.Code, _ closeCode: CloseCode) {
            self.testDescription = name
            self.bytes = bytes
            self.code = code
            self.closeCode = closeCode
        }
    }

    private static let hello = Wire.bytes("f2 48 cd c9 c9 07 00")

    static let named: [Violation] = [
        Violation("RSV1 on a ping", [0xC9, 0], .reservedBits, .protocolError),
        Violation("RSV1 on a pong", [0xCA, 0], .reservedBits, .protocolError),
        Violation("RSV1 on a close", [0xC8, 0], .reservedBits, .protocolError),
        Violation("RSV1 on a continuation", [0x41, 0, 0xC0, 0], .reservedBits, .protocolError),
        Violation("RSV1 on a continuation of a plain one", [0x01, 0, 0xC0, 0], .reservedBits, .protocolError),
        Violation("RSV2", [0xE1, 0], .reservedBits, .protocolError),
        Violation("RSV3", [0xD1, 0], .reservedBits, .protocolError),
        Violation("a new message inside", [0x41, 0, 0xC1, 0], .interruptedMessage, .protocolError),
        Violation("a reserved kind of block", Wire.frame(0xC2, [0x07]), .invalidCompressedData, .invalidPayload),
        Violation(
            "a reference before the start", Wire.bytes("c1 05 f2 00 11 00 00"), .invalidCompressedData, .invalidPayload),
        Violation(
            "a message cut off", Wire.frame(0xC2, Array(Self.hello.prefix(4))), .invalidCompressedData, .invalidPayload),
        Violation(
            "a stored block cut off", Wire.frame(0xC2, [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48]), .invalidCompressedData,
            .invalidPayload),
        Violation(
            "a stored block whose lengths differ", Wire.frame(0xC2, [0x00, 0x05, 0x00, 0x00, 0x00]),
            .invalidCompressedData, .invalidPayload),
        Violation(
            "its own tail and half a header", Wire.frame(0xC2, [0x00, 0x00]), .invalidCompressedData, .invalidPayload),
        Violation(
            "its own tail", Wire.frame(0xC2, Self.hello + [0x00, 0x00, 0xFF, 0xFF]), .invalidCompressedData,
            .invalidPayload),
        Violation(
            "no UTF-8", Wire.frame(0xC1, [0x00, 0x01, 0x00, 0xFE, 0xFF, 0xCE, 0x00]), .invalidUTF8, .invalidPayload),
    ]

    @Test(arguments: named)
    func `are refused by name, in one chunk and byte by byte`(violation: Violation) throws {
        let agreement = CompressionAgreement()
        var whole = FrameDecoder(role: .client, compression: agreement)
        #expect(whole.drain([violation.bytes[...]]).error == violation.code)
        var bytewise = FrameDecoder(role: .client, compression: agreement)
        #expect(bytewise.drain(violation.bytes.indices.map { violation.bytes[$0...$0] }).error == violation.code)
        var session = WebSocketSession(role: .client, compression: agreement)
        var output: [UInt8] = []
        session.receive(violation.bytes[...])
        guard case .closed(let event, .drop) = session.next(into: &output) else {
            Issue.record("the connection is not failed")
            return
        }
        #expect(event.code == violation.closeCode)
    }

    @Test
    func `RSV1 means nothing without an agreement`() {
        #expect(FrameDecoder.decode(Wire.frame(0xC1, Self.hello)).error == .reservedBits)
    }

    @Test
    func `text that is no UTF-8 is refused before its message has ended`() throws {
        var decoder = FrameDecoder(role: .client, compression: .init())
        // A stored block with a byte that begins no character; more of the frame is announced.
        let drained = decoder.drain([[0x41, 100, 0x00, 0x03, 0x00, 0xFC, 0xFF, 0x61, 0xFF][...]])
        #expect(drained.error == .invalidUTF8)
    }

    // MARK: Bombs

    /// A compressed message of zeros, about a thousandth of its size.
    private static func bomb(_ count: Int) throws -> [UInt8] {
        var compressor = MessageCompressor(.init(), role: .server)
        var output: [UInt8] = []
        compressor.append(.binary, payload: [UInt8](repeating: 0, count: count)[...], mask: nil, to: &output)
        return output
    }

    @Test
    func `a message may be compressed as much as it can, however it is cut, and what is made of it is counted`() throws
    {
        for count in [200_000, 10 << 20] {
            let bytes = try Self.bomb(count)
            for size in [bytes.count, 7, 64] {
                var decoder = FrameDecoder(role: .client, compression: .init())
                let chunks = stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
                #expect(decoder.drain(chunks).incoming == [.binary([UInt8](repeating: 0, count: count)[...])])
                #expect(decoder.inflatedBytes == count)
            }
        }
    }

    @Test(arguments: [1, 1000, 16 << 10, 100_000])
    func `a message is inflated to its limit and not a byte further`(limit: Int) throws {
        let limits = WebSocketLimits { $0.maxMessageBytes = limit }
        let agreement = CompressionAgreement()
        func drain(_ count: Int, _ cut: Int) throws -> Drained {
            var compressor = MessageCompressor(.init(threshold: 1), role: .server)
            var bytes: [UInt8] = []
            compressor.append(.binary, payload: [UInt8](repeating: 9, count: count)[...], mask: nil, to: &bytes)
            var decoder = FrameDecoder(role: .client, limits: limits, compression: agreement)
            return decoder.drain([bytes[..<min(cut, bytes.count)], bytes[min(cut, bytes.count)...]])
        }
        for cut in [0, 5, 9] {
            #expect(try drain(limit, cut).error == nil)
            #expect(try drain(limit + 1, cut) == Drained(error: .messageTooBig))
            #expect(try drain(limit + 50_000, cut) == Drained(error: .messageTooBig))
        }
    }

    @Test
    func `a message of blocks that hold nothing is refused by its size on the wire`() throws {
        let limits = WebSocketLimits { $0.maxMessageBytes = 1000 }
        let nothing = (0..<300).flatMap { _ in [0x00, 0x00, 0x00, 0xFF, 0xFF] as [UInt8] }
        var whole = FrameDecoder(role: .client, limits: limits, compression: .init())
        #expect(whole.drain([Wire.frame(0xC2, nothing)[...]]).error == .messageTooBig)
        var fragments = FrameDecoder(role: .client, limits: limits, compression: .init())
        let pieces = [
            Wire.frame(0x42, Array(nothing.prefix(500)))[...], Wire.frame(0x00, Array(nothing.prefix(500)))[...],
        ]
        #expect(fragments.drain(pieces).error == nil)
        #expect(fragments.drain([Wire.frame(0x00, Array(nothing.prefix(500)))[...]]).error == .messageTooBig)
    }

    @Test(arguments: [(1189, nil), (1190, .messageTooBig)] as [(Int, WebSocketProtocolError.Code?)])
    func `a message may be an eighth and 64 bytes larger on the wire than its limit`(
        count: Int, error: WebSocketProtocolError.Code?
    ) {
        let limits = WebSocketLimits { $0.maxMessageBytes = 1000 }
        var decoder = FrameDecoder(role: .client, limits: limits, compression: .init())
        let header = Wire.frame(0xC2, [UInt8](repeating: 0, count: count)).prefix(4)
        #expect(decoder.drain([header]).error == error)
    }

    @Test
    func `fragments are counted on the wire`() throws {
        let limits = WebSocketLimits { $0.maxFragments = 3 }
        var decoder = FrameDecoder(role: .client, limits: limits, compression: .init())
        #expect(decoder.drain([[0x42, 0, 0, 0, 0, 0, 0, 0][...]]).error == .tooManyFragments)
    }

    @Test
    func `incompressible messages may use the whole limit`() throws {
        var random = SeededGenerator(seed: 4)
        let payload = random.bytes(100_000)
        var compressor = MessageCompressor(.init(), role: .server)
        var bytes: [UInt8] = []
        compressor.append(.binary, payload: payload[...], mask: nil, to: &bytes)
        #expect(bytes.count > 100_010)
        let limits = WebSocketLimits { $0.maxMessageBytes = 100_000 }
        var decoder = FrameDecoder(role: .client, limits: limits, compression: .init())
        #expect(decoder.drain([bytes[...]]) == Drained(incoming: [.binary(payload[...])]))
    }

    // MARK: Random bytes

    @Test(.timeLimit(.minutes(1)))
    func `random bytes give a value or an error, the same however they are cut`() throws {
        var random = SeededGenerator(seed: 5)
        let limits = WebSocketLimits { $0.maxMessageBytes = 2048 }
        let agreement = CompressionAgreement()
        for round in 0..<20_000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                var payload =
                    round.isMultiple(of: 2) ? random.bytes(Int.random(in: 0...30, using: &random)) : Self.hello
                if !payload.isEmpty, round.isMultiple(of: 3) {
                    payload[Int.random(in: 0..<payload.count, using: &random)] ^=
                        1 << UInt8.random(in: 0..<8, using: &random)
                }
                bytes += Wire.frame(
                    [0xC1, 0xC2, 0x42, 0x80, 0x00, 0x81].randomElement(using: &random) ?? 0xC1, payload)
            }
            var (whole, split) = (
                FrameDecoder(role: .client, limits: limits, compression: agreement),
                FrameDecoder(role: .client, limits: limits, compression: agreement)
            )
            let cut = Int.random(in: 0...bytes.count, using: &random)
            let (one, two) = (whole.drain([bytes[...]]), split.drain([bytes[..<cut], bytes[cut...]]))
            guard one != two else { continue }
            #expect(one == two, "round \(round), cut at \(cut): \(bytes)")
        }
    }
}
