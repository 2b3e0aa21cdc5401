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

extension SeededGenerator {
    /// The seeds that a text names: a count from the first of `standard` on, a range such as `1000-2000`, or one as `=1234`.
    package static func seeds(_ text: String?, or standard: ClosedRange<UInt64>) -> ClosedRange<UInt64> {
        guard let text else { return standard }
        if text.hasPrefix("="), let seed = UInt64(text.dropFirst()) { return seed...seed }
        let numbers = text.split(separator: "-").compactMap { UInt64($0) }
        if numbers.count == 2, numbers[0] <= numbers[1] { return numbers[0]...numbers[1] }
        guard let count = numbers.first, count > 0 else { return standard }
        return standard.lowerBound...standard.lowerBound + (count - 1)
    }
}
