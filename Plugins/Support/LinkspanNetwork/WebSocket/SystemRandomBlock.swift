private import CLinkspanRuntime

/// The system's random numbers, fetched a block at a time: the call into the kernel costs more than a small frame.
struct SystemRandomBlock: RandomNumberGenerator, Sendable {
    /// As many numbers as one call gives: 256 bytes (getentropy(3)).
    private static let size = 32

    private var block: [UInt64] = []

    mutating func next() -> UInt64 {
        if self.block.isEmpty { self.refill() }
        // Without a block the standard library's source decides, which knows further ways.
        return self.block.popLast() ?? .random(in: .min ... .max)
    }

    private mutating func refill() {
        self.block = [UInt64](unsafeUninitializedCapacity: Self.size) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            let isFilled = getentropy(start, Self.size * MemoryLayout<UInt64>.stride) == 0
            count = isFilled ? Self.size : 0
        }
    }
}
