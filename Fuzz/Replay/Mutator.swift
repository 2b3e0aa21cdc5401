internal import LinkspanTesting

/// Makes inputs from other inputs, the same ones each time.
struct Mutator {
    private let inputs: [[UInt8]]
    private var generator: SeededGenerator

    /// Pieces that a blind mutation would not find.
    private static let fragments: [[UInt8]] = [
        "connect", "_placeholder", "\"num\":", "{\"_placeholder\":true,\"num\":0}", "2147483648", "9007199254740993",
        "9223372036854775808", "18446744073709551616", "-1", "1e400", "[[[[[[[[", "]]]]", "{\"a\":", "}", ",", "\"",
        "\\",
        "\\u", "\\ud800", "/a,", "-", "10-", "45", "\u{1E}", "\0", "\u{FEFF}", "\r\n", "\n", "|", "%", "\u{7F}", "é",
    ].map { Array($0.utf8) }

    init(inputs: [[UInt8]], seed: UInt64) {
        self.inputs = inputs
        self.generator = SeededGenerator(seed: seed)
    }

    /// The next input.
    mutating func next() -> [UInt8] {
        var bytes = self.inputs.randomElement(using: &self.generator) ?? []
        for _ in 0..<Int.random(in: 1...4, using: &self.generator) {
            let index = Int.random(in: 0...bytes.count, using: &self.generator)
            switch Int.random(in: 0..<7, using: &self.generator) {
            case 0: bytes.insert(.random(in: 0...255, using: &self.generator), at: index)
            case 1: bytes.insert(contentsOf: Self.fragments.randomElement(using: &self.generator) ?? [], at: index)
            case 2: bytes.removeSubrange(index...)
            case 3: if index < bytes.count { bytes.remove(at: index) }
            case 4: if index < bytes.count { bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &self.generator) }
            case 5: bytes.insert(contentsOf: bytes[index...].prefix(64), at: index)
            default: bytes += self.inputs.randomElement(using: &self.generator)?.suffix(32) ?? []
            }
        }
        return Array(bytes.prefix(4096))
    }
}
