internal import LinkspanTesting
@testable internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("UTF-8 validation")
struct UTF8ValidatorTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        var bytes: [UInt8]
        /// The index of the byte after which nothing can make the text valid, or nil if there is none.
        var failsAt: Int?
        var isComplete: Bool
        var testDescription: String

        init(_ name: String, _ hex: String, failsAt: Int? = nil, isComplete: Bool = true) {
            self.bytes = Wire.bytes(hex)
            self.failsAt = failsAt
            self.isComplete = isComplete
            self.testDescription = name
        }
    }

    private static let kosme = "ce ba e1 bd b9 cf 83 ce bc ce b5"

    static let vectors: [Vector] = [
        Vector("empty", ""),
        Vector("Greek", kosme),
        Vector("above U+10FFFF after Greek", "\(kosme) f4 90 80 80 65 64 69 74 65 64", failsAt: 12),
        Vector("surrogate after Greek", "\(kosme) ed a0 80 65 64 69 74 65 64", failsAt: 12),
        Vector("first of one byte", "00"),
        Vector("first of two bytes", "c2 80"),
        Vector("first of three bytes", "e0 a0 80"),
        Vector("first of four bytes", "f0 90 80 80"),
        Vector("first of five bytes", "f8 88 80 80 80", failsAt: 0),
        Vector("first of six bytes", "fc 84 80 80 80 80", failsAt: 0),
        Vector("last of one byte", "7f"),
        Vector("last of two bytes", "df bf"),
        Vector("last of three bytes", "ef bf bf"),
        Vector("last of four bytes", "f4 8f bf bf"),
        Vector("beyond the last", "f7 bf bf bf", failsAt: 0),
        Vector("before the surrogates", "ed 9f bf"),
        Vector("after the surrogates", "ee 80 80"),
        Vector("replacement character", "ef bf bd"),
        Vector("U+110000", "f4 90 80 80", failsAt: 1),
        Vector("lonely continuation 80", "80", failsAt: 0),
        Vector("lonely continuation bf", "bf", failsAt: 0),
        Vector("two continuations after a character", "c2 80 80", failsAt: 2),
        Vector("start of two and a space", "c0 20", failsAt: 0),
        Vector("start of three and a space", "e1 20", failsAt: 1),
        Vector("start of four and a space", "f1 80 20", failsAt: 2),
        Vector("character without its last byte", "e1 80", isComplete: false),
        Vector("four bytes without the last", "f1 80 80", isComplete: false),
        Vector("fe", "fe", failsAt: 0),
        Vector("ff", "ff", failsAt: 0),
        Vector("overlong slash in two", "c0 af", failsAt: 0),
        Vector("overlong slash in three", "e0 80 af", failsAt: 1),
        Vector("overlong slash in four", "f0 80 80 af", failsAt: 1),
        Vector("greatest overlong of two", "c1 bf", failsAt: 0),
        Vector("greatest overlong of three", "e0 9f bf", failsAt: 1),
        Vector("greatest overlong of four", "f0 8f bf bf", failsAt: 1),
        Vector("overlong zero", "c0 80", failsAt: 0),
        Vector("single surrogates", "ed ad bf", failsAt: 1),
        Vector("paired surrogates", "ed a0 80 ed b0 80", failsAt: 1),
        Vector("non-characters", "ef bf be f0 9f bf be f4 8f bf bf"),
    ]

    @Test(arguments: vectors)
    func `fails at the first byte that can't be right, not later`(vector: Vector) {
        var validator = UTF8Validator()
        let failure = vector.bytes.indices.first { !validator.accept(vector.bytes[$0...$0]) }
        #expect(failure == vector.failsAt)
        #expect(vector.failsAt != nil || validator.isComplete == vector.isComplete)
        #expect(UTF8Validator.isValid(vector.bytes[...]) == (vector.failsAt == nil && vector.isComplete))
    }

    @Test(arguments: vectors)
    func `a text message fails as soon as the bad byte arrives, whatever is still to come`(vector: Vector) throws {
        for (role, mask) in [(WebSocketRole.client, nil), (.server, [0x11, 0x82, 0x33, 0xF4] as [UInt8]?)] {
            let fill = vector.bytes + [UInt8](repeating: 0x61, count: 9)
            let stream = Wire.frame(0x01, Array("ä".utf8), mask: mask) + Wire.frame(0x00, fill, mask: mask)
            let payloadStart = stream.count - fill.count
            var decoder = FrameDecoder(role: role)
            var failure: Int?
            for index in stream.indices where failure == nil {
                if decoder.drain([stream[index...index]]).error != nil { failure = index - payloadStart }
            }
            #expect(failure == vector.failsAt ?? (vector.isComplete ? nil : vector.bytes.count))
        }
    }

    @Test
    func `finds a bad byte at each place of a long text`() {
        for place in 0..<100 {
            var text = [UInt8](repeating: 0x61, count: 100)
            text[place] = 0xFF
            #expect(!UTF8Validator.isValid(text[...]), "\(place)")
        }
    }

    @Test
    func `agrees with the standard library on all pairs of bytes, with ASCII around them at all offsets`() {
        for pair in 0...0xFFFF {
            let bytes = [UInt8(pair >> 8), UInt8(pair & 0xFF)]
            let text = [UInt8](repeating: 0x61, count: pair % 41) + bytes + [0x80, 0x62]
            #expect(UTF8Validator.isValid(text[...]) == Self.isUTF8(text))
        }
    }

    @Test
    func `agrees with the standard library on random text and its mutations, however split`() {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<20_000 {
            var bytes = Self.text(random: &random)
            if Bool.random(using: &random), !bytes.isEmpty {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let cut = Int.random(in: 0...bytes.count, using: &random)
            var validator = UTF8Validator()
            let isValid = validator.accept(bytes[..<cut]) && validator.accept(bytes[cut...]) && validator.isComplete
            #expect(isValid == Self.isUTF8(bytes), "\(bytes)")
        }
    }

    private static func text(random: inout SeededGenerator) -> [UInt8] {
        var text = ""
        for _ in 0..<Int.random(in: 0...30, using: &random) {
            let limit: UInt32 = [0x7F, 0x7F, 0x7FF, 0xFFFF, 0x10FFFF][Int.random(in: 0..<5, using: &random)]
            guard let scalar = Unicode.Scalar(UInt32.random(in: 0...limit, using: &random)) else { continue }
            text.unicodeScalars.append(scalar)
        }
        return Array(text.utf8)
    }

    /// Decoding repairs what is wrong, so only valid bytes survive it unchanged.
    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(bytes)
    }
}

extension UTF8Validator {
    fileprivate mutating func accept(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.withUnsafeBufferPointer { self.accept($0) }
    }
}
