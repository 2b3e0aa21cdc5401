/// Random numbers that a failing test can repeat, by SplitMix64.
///
/// ```swift
/// var generator = SeededGenerator(seed: seed)
/// let size = Int.random(in: 1...100, using: &generator)
/// #expect(handles(size), "seed \(seed)")
/// ```
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Makes a generator.
    ///
    /// - Parameter seed: determines the numbers.
    public init(seed: UInt64) { self.state = seed }

    /// The next number.
    public mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
