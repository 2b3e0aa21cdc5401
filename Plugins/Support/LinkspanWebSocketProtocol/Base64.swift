/// Base64 with padding (RFC 4648 section 4).
public enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")

    /// The value of each digit; 64 for bytes that are none.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 64, count: 256)
        for (value, digit) in Self.alphabet.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    /// The length of the text of so many bytes.
    public static func length(of count: Int) -> Int { (count + 2) / 3 * 4 }

    /// The text of `bytes`.
    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        Self.append(bytes[...], to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the text of `bytes`.
    public static func append(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) {
        text.reserveCapacity(text.count + Self.length(of: bytes.count))
        var rest = bytes
        while !rest.isEmpty {
            let group = rest.prefix(3)
            rest = rest.dropFirst(3)
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for position in 0..<4 {
                let digit = Int(bits >> UInt32(18 - 6 * position) & 0x3F)
                text.append(position <= group.count ? Self.alphabet[digit] : Self.padding)
            }
        }
    }

    /// The bytes that `text` stands for; nil when it is not what an encoder writes: whole groups, padded at the end.
    public static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        let padded = text.suffix(2).reversed().prefix { $0 == Self.padding }.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var bits: UInt32 = 0
        var digits = 0
        for byte in text.dropLast(padded) {
            let value = Self.values[Int(byte)]
            guard value < 64 else { return nil }
            bits = bits << 6 | UInt32(value)
            digits += 1
            guard digits == 4 else { continue }
            bytes.append(UInt8(truncatingIfNeeded: bits >> 16))
            bytes.append(UInt8(truncatingIfNeeded: bits >> 8))
            bytes.append(UInt8(truncatingIfNeeded: bits))
            (bits, digits) = (0, 0)
        }
        // What is left of a group has bits over, which have to be zero: otherwise two texts would stand for one thing.
        switch digits {
        case 0: return bytes
        case 2 where bits & 0xF == 0: return bytes + [UInt8(truncatingIfNeeded: bits >> 4)]
        case 3 where bits & 0x3 == 0:
            return bytes + [UInt8(truncatingIfNeeded: bits >> 10), UInt8(truncatingIfNeeded: bits >> 2)]
        default: return nil
        }
    }

    /// Whether `text` stands for exactly 16 bytes, as a client's key must.
    static func isSixteenBytes(_ text: String) -> Bool {
        let digits = text.utf8.prefix(22)
        return text.utf8.count == 24 && text.hasSuffix("==") && digits.allSatisfy(Self.alphabet.contains)
    }
}
