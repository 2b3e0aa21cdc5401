/// SHA-1 (RFC 3174), for the accept value of the opening handshake, where it proves understanding and secures nothing.
enum SHA1 {
    /// The 20 bytes of the digest of `message`.
    static func digest(_ message: [UInt8]) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        let padded = Self.pad(message)
        for start in stride(from: 0, to: padded.count, by: 64) { Self.mix(padded[start..<start + 64], into: &state) }
        return state.flatMap { withUnsafeBytes(of: $0.bigEndian, Array.init) }
    }

    private static func pad(_ message: [UInt8]) -> [UInt8] {
        let zeros = (119 - message.count % 64) % 64
        let bits = UInt64(message.count) * 8
        return message + [0x80] + [UInt8](repeating: 0, count: zeros)
            + withUnsafeBytes(of: bits.bigEndian, Array.init)
    }

    private static func mix(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for (round, word) in Self.schedule(block).enumerated() {
            let (choice, constant): (UInt32, UInt32) =
                switch round {
                case 0..<20: (b & c | ~b & d, 0x5A82_7999)
                case 20..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case 40..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let sum = Self.rotate(a, 5) &+ choice &+ e &+ word &+ constant
            (a, b, c, d, e) = (sum, a, Self.rotate(b, 30), c, d)
        }
        for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
    }

    private static func schedule(_ block: ArraySlice<UInt8>) -> [UInt32] {
        var words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { start in
            block[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<80 {
            words.append(Self.rotate(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
        }
        return words
    }

    private static func rotate(_ word: UInt32, _ bits: UInt32) -> UInt32 { word << bits | word >> (32 - bits) }
}
