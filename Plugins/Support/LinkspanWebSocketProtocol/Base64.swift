/// Base64 with padding (RFC 4648 section 4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")

    /// The value of each digit; 64 for any other byte.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 64, count: 256)
        for (value, digit) in Self.alphabet.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }()

    /// The length of the text of so many bytes.
    package static func length(of count: Int) -> Int { (count + 2) / 3 * 4 }

    /// The text of `bytes`.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        Self.append(bytes[...], to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the text of `bytes`.
    package static func append(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) {
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
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        let padded = text.suffix(2).reversed().prefix { $0 == Self.padding }.count
        let digits = text.dropLast(padded)
        let rest = digits.suffix(digits.count % 4)
        guard var bytes = Self.decodeGroups(digits.dropLast(rest.count)) else { return nil }
        var bits: UInt32 = 0
        for byte in rest {
            let value = Self.values[Int(byte)]
            guard value < 64 else { return nil }
            bits = bits << 6 | UInt32(value)
        }
        // What is left of a group has bits over, which have to be zero: otherwise two texts would stand for one thing.
        switch rest.count {
        case 0: return bytes
        case 2 where bits & 0xF == 0:
            bytes.append(UInt8(truncatingIfNeeded: bits >> 4))
            return bytes
        case 3 where bits & 0x3 == 0:
            bytes.append(UInt8(truncatingIfNeeded: bits >> 10))
            bytes.append(UInt8(truncatingIfNeeded: bits >> 2))
            return bytes
        default: return nil
        }
    }

    /// The bytes of whole groups of four digits; nil when something else is among them.
    private static func decodeGroups(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var isValid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 2) { room, count in
            Self.values.withUnsafeBufferPointer { values in
                text.withUnsafeBufferPointer { text in
                    var index = 0
                    while index < text.count, isValid {
                        let first = values[Int(text[index])]
                        let second = values[Int(text[index + 1])]
                        let third = values[Int(text[index + 2])]
                        let fourth = values[Int(text[index + 3])]
                        isValid = (first | second | third | fourth) < 64
                        room[count] = first << 2 | second >> 4
                        room[count + 1] = second << 4 | third >> 2
                        room[count + 2] = third << 6 | fourth
                        count += 3
                        index += 4
                    }
                }
            }
        }
        return isValid ? bytes : nil
    }

    /// Whether `text` stands for exactly 16 bytes, as a client's key must.
    static func isSixteenBytes(_ text: String) -> Bool {
        let digits = text.utf8.prefix(22)
        return text.utf8.count == 24 && text.hasSuffix("==") && digits.allSatisfy(Self.alphabet.contains)
    }
}
