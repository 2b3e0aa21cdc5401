/// A source of masks for a client's frames.
///
/// RFC 6455 section 10.3 wants masks that nobody can foresee: who could choose both a payload and its masked form could
/// make an old proxy take it for HTTP and poison its cache. So they come from the system's generator and not from a
/// fast one with a seed. They are drawn a block at a time, since a call into the kernel costs more than a small frame. The
/// first blocks are small: most connections send little.
package struct MaskSource: Sendable {
    /// Fills a block with random numbers.
    package typealias Fill = @Sendable (UnsafeMutableBufferPointer<UInt32>) -> Void

    /// As many numbers as one call of getentropy(3) gives: 256 bytes.
    private static let largestBlock = 64

    private let fill: Fill
    private var block: [UInt32] = []
    /// The number of values of the block that have not been given out.
    private var left = 0

    /// Makes a source that draws by `fill`; anything but the system's numbers is for tests.
    package init(_ fill: @escaping Fill = Self.fillFromStandardLibrary) { self.fill = fill }

    /// Fills a block from the standard library's source, which is the system's.
    package static func fillFromStandardLibrary(_ block: UnsafeMutableBufferPointer<UInt32>) {
        for index in block.indices { block[index] = .random(in: .min ... .max) }
    }

    /// The mask for one frame, never given out before or again; its most significant byte is the first on the wire.
    package mutating func next() -> UInt32 {
        if self.left == 0 { self.refill() }
        self.left -= 1
        return self.block[self.left]
    }

    private mutating func refill() {
        // In place, so that refilling takes no memory.
        if self.block.count < Self.largestBlock {
            self.block = [UInt32](repeating: 0, count: max(2, 2 * self.block.count))
        }
        self.block.withUnsafeMutableBufferPointer { self.fill($0) }
        self.left = self.block.count
    }
}
