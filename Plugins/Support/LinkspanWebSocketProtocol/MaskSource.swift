/// A source of masks for a client's frames.
///
/// RFC 6455 section 10.3 wants masks that nobody can foresee: who could choose both a payload and its masked form could
/// make an old proxy take it for HTTP and poison its cache. So they come from the system's generator and not from a
/// fast one with a seed. They are drawn a block at a time, which uses each number fully, as two masks, and keeps the
/// call through an existential away from the single frame. The first number needs no block, and the first blocks are
/// small: most connections send little.
package struct MaskSource: Sendable {
    private static let largestBlock = 64

    private var generator: any RandomNumberGenerator & Sendable
    private var block: [UInt64] = []
    private var blockSize = 1
    private var spare: UInt32?

    /// Makes a source that draws from `generator`; anything but the system's is for tests.
    package init(generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) {
        self.generator = generator
    }

    /// The mask for one frame, never given out before or again; its most significant byte is the first on the wire.
    package mutating func next() -> UInt32 {
        if let spare = self.spare {
            self.spare = nil
            return spare
        }
        if self.block.isEmpty { self.refill() }
        let number = self.block.popLast() ?? self.generator.next()
        self.spare = UInt32(truncatingIfNeeded: number >> 32)
        return UInt32(truncatingIfNeeded: number)
    }

    private mutating func refill() {
        if self.blockSize > 1 {
            self.block.reserveCapacity(self.blockSize)
            for _ in 0..<self.blockSize { self.block.append(self.generator.next()) }
        }
        self.blockSize = min(2 * self.blockSize, Self.largestBlock)
    }
}
