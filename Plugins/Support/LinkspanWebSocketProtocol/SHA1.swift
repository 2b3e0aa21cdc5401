/// SHA-1 (RFC 3174), for the accept value of the opening handshake, where it proves understanding and secures nothing.
enum SHA1 {
    /// The 20 bytes of the digest of `message`.
    static func digest(_ message: [UInt8]) -> [UInt8] {
        var state = State()
        let padded = Self.pad(message)
        for start in stride(from: 0, to: padded.count, by: 64) {
            state.mix(padded[start..<start + 64])
        }
        return [state.a, state.b, state.c, state.d, state.e].flatMap {
            withUnsafeBytes(of: $0.bigEndian, Array.init)
        }
    }

    private static func pad(_ message: [UInt8]) -> [UInt8] {
        let zeros = (119 - message.count % 64) % 64
        let bits = UInt64(message.count) * 8
        return message + [0x80] + [UInt8](repeating: 0, count: zeros)
            + withUnsafeBytes(of: bits.bigEndian, Array.init)
    }

    private struct State {
        var a: UInt32 = 0x6745_2301
        var b: UInt32 = 0xEFCD_AB89
        var c: UInt32 = 0x98BA_DCFE
        var d: UInt32 = 0x1032_5476
        var e: UInt32 = 0xC3D2_E1F0

        mutating func mix(_ block: ArraySlice<UInt8>) {
            var next = self
            for (round, word) in Self.schedule(block).enumerated() {
                let (choice, constant) = next.choose(round)
                let sum = Self.rotate(next.a, 5) &+ choice &+ next.e &+ word &+ constant
                (next.e, next.d, next.c) = (next.d, next.c, Self.rotate(next.b, 30))
                (next.b, next.a) = (next.a, sum)
            }
            self.a &+= next.a
            self.b &+= next.b
            self.c &+= next.c
            self.d &+= next.d
            self.e &+= next.e
        }

        private func choose(_ round: Int) -> (UInt32, UInt32) {
            switch round {
            case 0..<20: (self.b & self.c | ~self.b & self.d, 0x5A82_7999)
            case 20..<40: (self.b ^ self.c ^ self.d, 0x6ED9_EBA1)
            case 40..<60: (self.b & self.c | self.b & self.d | self.c & self.d, 0x8F1B_BCDC)
            default: (self.b ^ self.c ^ self.d, 0xCA62_C1D6)
            }
        }

        private static func schedule(_ block: ArraySlice<UInt8>) -> [UInt32] {
            var words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { start in
                block[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            for index in 16..<80 {
                let mixed = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
                words.append(Self.rotate(mixed, 1))
            }
            return words
        }

        private static func rotate(_ word: UInt32, _ bits: UInt32) -> UInt32 {
            word << bits | word >> (32 - bits)
        }
    }
}
