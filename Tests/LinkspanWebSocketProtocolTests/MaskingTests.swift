internal import LinkspanTesting
@testable internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("Masks")
struct MaskingTests {
    @Test
    func `are applied like the formula of RFC 6455 section 5.3, at every start and length`() {
        var random = SeededGenerator(seed: 4)
        for length in 0...70 {
            for start in 0...9 {
                let original = random.bytes(start + length)
                let mask = UInt32.random(in: 0...UInt32.max, using: &random)
                let key = Wire.number(Int(mask), bytes: 4)
                var masked = original
                Masking.apply(mask, to: &masked, from: start)
                let expected = original[start...].enumerated().map { $1 ^ key[$0 % 4] }
                #expect(masked == original[..<start] + expected)
            }
        }
    }

    @Test
    func `turn with the offset into a payload`() {
        let turned = (0...4).map { Masking.rotate(0x0102_0304, by: $0) }
        #expect(turned == [0x0102_0304, 0x0203_0401, 0x0304_0102, 0x0401_0203, 0x0102_0304])
    }

    @Test
    func `use each number of the generator as two, across refills, and never one twice`() {
        var source = MaskSource(generator: SeededGenerator(seed: 5))
        var generator = SeededGenerator(seed: 5)
        // Whole blocks: the first number has none, and the first ones are smaller.
        let count = 1 + 2 + 4 + 8 + 16 + 32 + 7 * 64
        let drawn = (0..<2 * count).map { _ in source.next() }
        let numbers = (0..<count).map { _ in generator.next() }
        let halves = numbers.flatMap { [UInt32(truncatingIfNeeded: $0), UInt32(truncatingIfNeeded: $0 >> 32)] }
        #expect(drawn.sorted() == halves.sorted())
    }

    @Test
    func `of two sources differ`() {
        var one = MaskSource()
        var other = MaskSource()
        let masks = (0..<300).flatMap { _ in [one.next(), other.next()] }
        #expect(Set(masks).count > 590)
    }
}
