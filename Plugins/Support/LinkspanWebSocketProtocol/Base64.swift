/// Base64 with padding (RFC 4648 section 4), as far as the opening handshake needs it.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The text of `bytes`.
    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for position in 0..<4 {
                let digit = Int(bits >> UInt32(18 - 6 * position) & 0x3F)
                text.append(position <= group.count ? Self.alphabet[digit] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether `text` stands for exactly 16 bytes, as a client's key must.
    static func isSixteenBytes(_ text: String) -> Bool {
        let digits = text.utf8.prefix(22)
        return text.utf8.count == 24 && text.hasSuffix("==") && digits.allSatisfy(Self.alphabet.contains)
    }
}
