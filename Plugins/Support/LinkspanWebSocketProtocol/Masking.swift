/// The exclusive-or of RFC 6455 section 5.3, eight bytes at a time.
///
/// A mask is a number whose most significant byte is the first on the wire.
enum Masking {
    /// The mask for bytes that begin `offset` bytes into a payload.
    static func rotate(_ mask: UInt32, by offset: Int) -> UInt32 {
        let bits = UInt32(truncatingIfNeeded: offset & 3) * 8
        return mask << bits | mask >> (32 - bits)
    }

    /// Masks or unmasks `array` from `start` on, in place.
    static func apply(_ mask: UInt32, to array: inout [UInt8], from start: Int) {
        array.withUnsafeMutableBytes { bytes in
            Self.apply(mask, to: UnsafeMutableRawBufferPointer(rebasing: bytes[start...]))
        }
    }

    static func apply(_ mask: UInt32, to bytes: UnsafeMutableRawBufferPointer) {
        // In memory order, so that a word of payload can be combined with it on any processor.
        let half = UInt64(mask.bigEndian)
        let word = half << 32 | half
        let words = bytes.count & ~7
        var index = 0
        while index < words {
            let masked = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ word
            bytes.storeBytes(of: masked, toByteOffset: index, as: UInt64.self)
            index += 8
        }
        var rest = mask
        while index < bytes.count {
            rest = rest << 8 | rest >> 24
            bytes[index] ^= UInt8(truncatingIfNeeded: rest)
            index += 1
        }
    }
}
