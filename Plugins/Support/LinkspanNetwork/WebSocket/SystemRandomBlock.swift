private import CLinkspanRuntime
#if canImport(Darwin)
private import Darwin
#endif

/// The system's random numbers, fetched a block at a time: the call into the kernel costs more than a small frame.
///
/// The first number needs no block, and the first blocks are small: most connections need few numbers.
struct SystemRandomBlock: RandomNumberGenerator, Sendable {
    /// As many numbers as one call gives: 256 bytes (getentropy(3)).
    private static let largest = 32

    private var block: [UInt64] = []
    /// The number of values of the block that have not been given out.
    private var left = 0
    private var hasBegun = false

    mutating func next() -> UInt64 {
        guard self.hasBegun else {
            self.hasBegun = true
            return Self.single()
        }
        if self.left == 0 { self.refill() }
        // Without a block the standard library's source decides, which knows further ways.
        guard self.left > 0 else { return .random(in: .min ... .max) }
        self.left -= 1
        return self.block[self.left]
    }

    private static func single() -> UInt64 {
        var number: UInt64 = 0
        let isFilled = withUnsafeMutableBytes(of: &number) { bytes in
            bytes.baseAddress.map { Self.fill($0, bytes.count) } ?? false
        }
        return isFilled ? number : .random(in: .min ... .max)
    }

    private mutating func refill() {
        // In place, so that refilling takes no memory.
        if self.block.count < Self.largest { self.block = [UInt64](repeating: 0, count: max(2, 2 * self.block.count)) }
        let isFilled = self.block.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { Self.fill($0, bytes.count) } ?? false
        }
        self.left = isFilled ? self.block.count : 0
    }

    private static func fill(_ bytes: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        #if canImport(Darwin)
        // Apps with a call of getentropy(2) have been rejected from the App Store; this one cannot fail.
        arc4random_buf(bytes, count)
        return true
        #else
        return getentropy(bytes, count) == 0
        #endif
    }
}
