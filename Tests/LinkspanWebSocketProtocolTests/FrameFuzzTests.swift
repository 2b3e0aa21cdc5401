internal import LinkspanTesting
internal import LinkspanWebSocketProtocol
internal import Testing

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
