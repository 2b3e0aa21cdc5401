/// Checks UTF-8 that arrives in pieces, and fails at the first byte after which no text can be valid any more.
///
/// The bounds of the next byte carry the rules of RFC 3629 section 4: they exclude overlong forms, surrogates and
/// values above U+10FFFF at the second byte of a sequence, not at its end.
package struct UTF8Validator: Sendable {
    private var missing: UInt8 = 0
    private var lower: UInt8 = 0x80
    private var upper: UInt8 = 0xBF

    /// Whether the bytes so far do not end inside a character.
    var isComplete: Bool { self.missing == 0 }

    /// Takes the next bytes, and returns false if they can't continue a valid text.
    mutating func accept(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var state = self  // a local stays in registers over the loop
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte < 0x80, state.missing == 0 {
                index = Self.endOfASCII(bytes, from: index)
            } else if state.step(byte) {
                index += 1
            } else {
                return false
            }
        }
        self = state
        return true
    }

    /// Whether `bytes` are a whole valid text.
    package static func isValid(_ bytes: ArraySlice<UInt8>) -> Bool {
        var validator = Self()
        return bytes.withUnsafeBufferPointer { validator.accept($0) } && validator.isComplete
    }

    private static func endOfASCII(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        guard let raw = bytes.baseAddress.map({ UnsafeRawPointer($0) }) else { return start }
        func isASCII(_ index: Int) -> Bool {
            raw.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
        }
        var index = start
        while index &+ 32 <= bytes.count {
            let first = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let second = raw.loadUnaligned(fromByteOffset: index &+ 8, as: UInt64.self)
            let third = raw.loadUnaligned(fromByteOffset: index &+ 16, as: UInt64.self)
            let fourth = raw.loadUnaligned(fromByteOffset: index &+ 24, as: UInt64.self)
            guard (first | second | third | fourth) & 0x8080_8080_8080_8080 == 0 else { break }
            index &+= 32
        }
        while index &+ 8 <= bytes.count, isASCII(index) { index &+= 8 }
        // The last eight bytes, some of which have been looked at.
        if bytes.count &- index < 8, index &- start >= 8, isASCII(bytes.count &- 8) { return bytes.count }
        while index < bytes.count, bytes[index] < 0x80 { index &+= 1 }
        return index
    }

    @inline(__always)
    private mutating func step(_ byte: UInt8) -> Bool {
        if self.missing > 0 {
            guard self.lower <= byte, byte <= self.upper else { return false }
            self.expect(self.missing - 1)
            return true
        }
        switch byte {
        case 0x00...0x7F: ()
        case 0xC2...0xDF: self.expect(1)
        case 0xE0: self.expect(2, from: 0xA0)
        case 0xED: self.expect(2, upTo: 0x9F)
        case 0xE1...0xEF: self.expect(2)
        case 0xF0: self.expect(3, from: 0x90)
        case 0xF1...0xF3: self.expect(3)
        case 0xF4: self.expect(3, upTo: 0x8F)
        default: return false
        }
        return true
    }

    @inline(__always)
    private mutating func expect(_ count: UInt8, from lower: UInt8 = 0x80, upTo upper: UInt8 = 0xBF) {
        self.missing = count
        self.lower = lower
        self.upper = upper
    }
}
