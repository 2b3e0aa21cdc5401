internal import LinkspanTesting
internal import Testing

@testable internal import LinkspanWebSocketProtocol

@Suite("Frame encoder")
struct FrameEncoderTests {
    private static let sizes = [0, 1, 2, 7, 8, 9, 124, 125, 126, 127, 65534, 65535, 65536, 65537, 200_000]

    @Test
    func `writes the examples of RFC 6455 section 5.7`() {
        func frame(_ opcode: Opcode, _ text: String, isFinal: Bool = true, mask: UInt32? = nil) -> [UInt8] {
            var output: [UInt8] = []
            FrameEncoder.append(opcode, isFinal: isFinal, payload: text.utf8, mask: mask, to: &output)
            return output
        }
        #expect(frame(.text, "Hello") == Wire.bytes("81 05 48 65 6c 6c 6f"))
        #expect(frame(.text, "Hello", mask: 0x37fa_213d) == Wire.bytes("81 85 37 fa 21 3d 7f 9f 4d 51 58"))
        #expect(frame(.text, "Hel", isFinal: false) == Wire.bytes("01 03 48 65 6c"))
        #expect(frame(.continuation, "lo") == Wire.bytes("80 02 6c 6f"))
        #expect(frame(.ping, "Hello") == Wire.bytes("89 05 48 65 6c 6c 6f"))
        #expect(frame(.pong, "Hello", mask: 0x37fa_213d) == Wire.bytes("8a 85 37 fa 21 3d 7f 9f 4d 51 58"))
    }

    @Test(arguments: sizes)
    func `every form writes the same frame behind what the buffer held`(size: Int) throws {
        var random = SeededGenerator(seed: UInt64(size))
        let payload = random.bytes(size)
        for mask in [nil, 0x0102_03F4 as UInt32?] {
            let wireMask = mask.map { Wire.number(Int($0), bytes: 4) }
            let expected: [UInt8] = [9, 9, 9] + Wire.frame(0x82, payload, mask: wireMask)
            var whole: [UInt8] = [9, 9, 9]
            FrameEncoder.append(.binary, payload: payload, mask: mask, to: &whole)
            #expect(whole == expected)
            var written: [UInt8] = [9, 9, 9]
            FrameEncoder.append(.binary, length: size, mask: mask, to: &written) { writer in
                for byte in payload.prefix(2) { writer.append(byte) }
                writer.append(contentsOf: payload.dropFirst(2))
            }
            #expect(written == expected)
        }
    }

    @Test
    func `takes collections that are not contiguous`() {
        var output: [UInt8] = []
        FrameEncoder.append(.binary, payload: (0..<20).lazy.map { UInt8($0) }, mask: 0xFFFF_FFFF, to: &output)
        #expect(output == [0x82, 0x80 | 20] + [UInt8](repeating: 0xFF, count: 4) + (0..<20).map { ~UInt8($0) })
    }

    @Test
    func `cuts a close reason at 123 bytes after a whole character`() {
        let cases = [
            (String(repeating: "a", count: 123), 123), (String(repeating: "a", count: 124), 123),
            (String(repeating: "é", count: 100), 122), ("a" + String(repeating: "é", count: 100), 123),
            (String(repeating: "€", count: 50), 123), ("a" + String(repeating: "😀", count: 50), 121), ("", 0),
        ]
        for (reason, length) in cases {
            var output: [UInt8] = []
            FrameEncoder.appendClose(.goingAway, reason: reason, mask: nil, to: &output)
            let cut = String(decoding: reason.utf8.prefix(length), as: UTF8.self)
            #expect(output == Wire.frame(0x88, [0x03, 0xE9] + reason.utf8.prefix(length)))
            #expect(FrameDecoder.decode(output).incoming == [.close(.goingAway, reason: cut)])
        }
    }

    @Test
    func `writes an empty Close frame without a code`() {
        var output: [UInt8] = []
        FrameEncoder.appendClose(nil, mask: nil, to: &output)
        #expect(output == [0x88, 0])
    }

    @Test(arguments: WebSocketRole.allCases)
    func `a decoder of the other end gets back what was written`(receiver: WebSocketRole) {
        var random = SeededGenerator(seed: 11)
        var stream: [UInt8] = []
        var expected: [FrameDecoder.Incoming] = []
        let sizes = Self.sizes + (0..<20).map { _ in Int.random(in: 0...200_000, using: &random) }
        for size in sizes {
            let payload = random.bytes(size)
            let mask = receiver == .server ? UInt32.random(in: 0...UInt32.max, using: &random) : nil
            FrameEncoder.append(.binary, payload: payload, mask: mask, to: &stream)
            expected.append(.binary(payload[...]))
        }
        var chunks: [ArraySlice<UInt8>] = []
        var rest = stream[...]
        while !rest.isEmpty {
            chunks.append(rest.prefix(Int.random(in: 1...90_000, using: &random)))
            rest = rest.dropFirst(chunks.last?.count ?? 0)
        }
        var decoder = FrameDecoder(role: receiver)
        #expect(decoder.drain(chunks) == Drained(incoming: expected))
        #expect(FrameDecoder.decode(stream, role: receiver) == Drained(incoming: expected))
    }
}

@Suite("Masks")
struct MaskingTests {
    @Test
    func `are applied like the formula of RFC 6455 section 5.3, at every start and length`() {
        var random = SeededGenerator(seed: 4)
        for length in 0...70 {
            for start in 0...9 {
                let original = random.bytes(start + length)
                let mask = UInt32.random(in: 0...UInt32.max, using: &random)
                let key = Wire.number(Int(mask), bytes: 4)
                var masked = original
                Masking.apply(mask, to: &masked, from: start)
                let expected = original[start...].enumerated().map { $1 ^ key[$0 % 4] }
                #expect(masked == original[..<start] + expected)
            }
        }
    }

    @Test
    func `turn with the offset into a payload`() {
        let turned = (0...4).map { Masking.rotate(0x0102_0304, by: $0) }
        #expect(turned == [0x0102_0304, 0x0203_0401, 0x0304_0102, 0x0401_0203, 0x0102_0304])
    }

    @Test
    func `use each number of the generator, across refills, and never one twice`() {
        var source = MaskSource(seed: 5)
        var generator = SeededGenerator(seed: 5)
        // Whole blocks, of which the first ones are smaller.
        let count = 2 + 4 + 8 + 16 + 32 + 8 * 64
        let drawn = (0..<count).map { _ in source.next() }
        let numbers = (0..<count).map { _ in UInt32(truncatingIfNeeded: generator.next()) }
        #expect(drawn.sorted() == numbers.sorted())
    }

    @Test
    func `of two sources differ`() {
        var one = MaskSource()
        var other = MaskSource()
        let masks = (0..<300).flatMap { _ in [one.next(), other.next()] }
        #expect(Set(masks).count > 590)
    }

    @Test
    func `a control frame that is too long or not final is not written`() async {
        await #expect(processExitsWith: .failure) {
            var output: [UInt8] = []
            FrameEncoder.append(.ping, payload: [UInt8](repeating: 0, count: 126), mask: nil, to: &output)
        }
        await #expect(processExitsWith: .failure) {
            var output: [UInt8] = []
            FrameEncoder.append(.ping, isFinal: false, payload: [1], mask: nil, to: &output)
        }
    }
}
