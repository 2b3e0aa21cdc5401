internal import LinkspanTesting
internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("Frame decoder")
struct FrameDecoderTests {
    private static let hello = Array("Hello".utf8)

    @Test
    func `reads the examples of RFC 6455 section 5.7`() {
        let unmasked = Wire.bytes("81 05 48 65 6c 6c 6f")
        let masked = Wire.bytes("81 85 37 fa 21 3d 7f 9f 4d 51 58")
        let fragmented = Wire.bytes("01 03 48 65 6c 80 02 6c 6f")
        let ping = Wire.bytes("89 05 48 65 6c 6c 6f")
        let maskedPong = Wire.bytes("8a 85 37 fa 21 3d 7f 9f 4d 51 58")
        let text = FrameDecoder.Incoming.text(Self.hello[...])
        #expect(FrameDecoder.decode(unmasked) == Drained(incoming: [text]))
        #expect(FrameDecoder.decode(masked, role: .server) == Drained(incoming: [text]))
        #expect(FrameDecoder.decode(fragmented) == Drained(incoming: [text]))
        #expect(FrameDecoder.decode(ping) == Drained(incoming: [.ping(Self.hello[...])]))
        #expect(FrameDecoder.decode(maskedPong, role: .server) == Drained(incoming: [.pong(Self.hello[...])]))
        let sizes = [("82 7e 01 00", 256), ("82 7f 00 00 00 00 00 01 00 00", 65536)]
        for (header, size) in sizes {
            let payload = [UInt8](repeating: 7, count: size)
            let expected = Drained(incoming: [.binary(payload[...])])
            #expect(FrameDecoder.decode(Wire.bytes(header) + payload) == expected)
        }
    }

    /// A stream in which every kind of frame, all sizes of header and interleaving occur.
    private static func mixedStream(masks: Bool) -> [UInt8] {
        func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
            Wire.frame(first, payload, mask: masks ? [0x37, UInt8(payload.count & 0xFF), 0x21, 0x3d] : nil)
        }
        let long = Array(String(repeating: "κόσμε €😀 ", count: 6).utf8)
        return [
            frame(0x81, Self.hello), frame(0x82, []), frame(0x01, Array(long[..<3])), frame(0x89, [1, 2, 3]),
            frame(0x00, Array(long[3..<70])), frame(0x8A, []), frame(0x00, []), frame(0x80, Array(long[70...])),
            frame(0x82, [UInt8](repeating: 0xFF, count: 130)), frame(0x81, []), frame(0x81, long),
            frame(0x02, [9]), frame(0x80, []), frame(0x88, [0x03, 0xE8] + Array("tschüss".utf8)),
            frame(0x81, Self.hello),
        ].flatMap { $0 }
    }

    @Test(arguments: WebSocketRole.allCases)
    func `gives the same wherever a stream is split in two or three`(role: WebSocketRole) {
        let stream = Self.mixedStream(masks: role == .server)
        let whole = FrameDecoder.decode(stream, role: role)
        #expect(whole.error == nil)
        #expect(whole.incoming.count == 10)
        #expect(whole.incoming.last == .close(.normal, reason: "tschüss"))
        for cut in 0...stream.count {
            for second in Set([cut, min(cut + 1, stream.count), min(cut + 7, stream.count), stream.count]) {
                var decoder = FrameDecoder(role: role)
                let chunks = [stream[..<cut], stream[cut..<second], stream[second...]]
                #expect(decoder.drain(chunks) == whole, "split at \(cut) and \(second)")
            }
        }
    }

    @Test
    func `gives the same byte by byte, and with chunks given before the last was used up`() throws {
        for role in WebSocketRole.allCases {
            let stream = Self.mixedStream(masks: role == .server)
            let whole = FrameDecoder.decode(stream, role: role)
            var patient = FrameDecoder(role: role)
            #expect(patient.drain(stream.indices.map { stream[$0...$0] }) == whole)
            var hasty = FrameDecoder(role: role)
            for index in stream.indices { hasty.append(stream[index...index]) }
            #expect(hasty.drain([]).incoming.isEmpty)
            #expect(hasty.drain([[]]) == whole)
        }
    }

    @Test
    func `returns an unfragmented message as a slice of the chunk it came in`() throws {
        let payload = [UInt8](repeating: 0x61, count: 200)
        for first: UInt8 in [0x81, 0x82] {
            let chunk = Wire.frame(0x89, [1]) + Wire.frame(first, payload) + Wire.frame(0x8A, [2])
            var decoder = FrameDecoder(role: .client)
            let slices = decoder.drain([chunk[...]]).incoming.map(\.payload)
            let offsets = chunk.withUnsafeBufferPointer { whole in
                slices.map { slice in
                    slice.withUnsafeBufferPointer { part in
                        part.baseAddress.flatMap { address in whole.baseAddress.map { address - $0 } }
                    }
                }
            }
            #expect(offsets == [2, 7, 209])
            #expect(slices[1].elementsEqual(payload))
        }
    }

    @Test
    func `lets go of a chunk once it is used up`() throws {
        var chunk = Wire.frame(0x01, [0x61]) + Wire.bytes("80")
        let address = chunk.withUnsafeBufferPointer { $0.baseAddress }
        var decoder = FrameDecoder(role: .client)
        decoder.append(chunk[...])
        #expect(try decoder.next() == nil)
        chunk[0] = 0  // would copy if the decoder still shared the storage
        #expect(chunk.withUnsafeBufferPointer { $0.baseAddress } == address)
    }

    @Test
    func `takes nothing more after a Close frame`() {
        let close = Wire.frame(0x88, [])
        let drained = FrameDecoder.decode(close + Wire.frame(0x81, Self.hello) + [0xFF])
        #expect(drained == Drained(incoming: [.close(nil, reason: "")]))
    }

    @Test
    func `returns what came before a violation, then throws once, then stays silent`() {
        var decoder = FrameDecoder(role: .client)
        let bytes = Wire.frame(0x81, Self.hello) + Wire.frame(0x83)
        let expected = Drained(incoming: [.text(Self.hello[...])], error: .reservedOpcode)
        #expect(decoder.drain([bytes[...]]) == expected)
        #expect(decoder.drain([Wire.frame(0x81, Self.hello)[...]]) == Drained())
    }

    @Test
    func `gives messages that come one after the other storage of their own`() {
        let fragments = Wire.frame(0x02, [1]) + Wire.frame(0x80, [2]) + Wire.frame(0x02, [3]) + Wire.frame(0x80, [4])
        #expect(FrameDecoder.decode(fragments).incoming == [.binary([1, 2]), .binary([3, 4])])
    }
}

extension FrameDecoder.Incoming {
    fileprivate var payload: ArraySlice<UInt8> {
        switch self {
        case .text(let bytes), .binary(let bytes), .ping(let bytes), .pong(let bytes): bytes
        case .close: []
        }
    }
}

@Suite("Random bytes")
struct FrameFuzzTests {
    private static let limits = WebSocketLimits { $0.maxMessageBytes = 4096 }

    @Test(.timeLimit(.minutes(5)))
    func `give a value or an error, and never both ways of reading disagree`() {
        var random = SeededGenerator(seed: 1)
        for round in 0..<100_000 {
            let bytes = random.bytes(Int.random(in: 0...48, using: &random))
            Self.check(bytes, round: round, random: &random)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `put into valid streams give a value or an error too`() {
        var random = SeededGenerator(seed: 2)
        for round in 0..<100_000 {
            var bytes = Self.validStream(random: &random)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                Self.mutate(&bytes, random: &random)
            }
            Self.check(bytes, round: round, random: &random)
        }
    }

    /// Whole, and cut at a random place, a decoder must come to the same end.
    private static func check(_ bytes: [UInt8], round: Int, random: inout SeededGenerator) {
        let role: WebSocketRole = round.isMultiple(of: 2) ? .client : .server
        let cut = Int.random(in: 0...bytes.count, using: &random)
        var decoder = FrameDecoder(role: role, limits: Self.limits)
        let split = decoder.drain([bytes[..<cut], bytes[cut...]])
        let whole = FrameDecoder.decode(bytes, role: role, limits: Self.limits)
        guard split != whole else { return }  // the macro's cost a hundred thousand times is worth saving
        #expect(split == whole, "round \(round), cut at \(cut): \(bytes)")
    }

    private static func validStream(random: inout SeededGenerator) -> [UInt8] {
        var stream: [UInt8] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let mask: [UInt8]? = Bool.random(using: &random) ? random.bytes(4) : nil
            let size = Int.random(in: 0...40, using: &random)
            let opcode: UInt8 = [0x81, 0x82, 0x01, 0x80, 0x89, 0x8A, 0x88][Int.random(in: 0..<7, using: &random)]
            let text = (0..<size).map { _ in UInt8.random(in: 0x20...0x7E, using: &random) }
            stream += Wire.frame(opcode, text, mask: mask)
        }
        return stream
    }

    private static func mutate(_ bytes: inout [UInt8], random: inout SeededGenerator) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.insert(UInt8.random(in: 0...255, using: &random), at: index)
        default: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
    }
}
