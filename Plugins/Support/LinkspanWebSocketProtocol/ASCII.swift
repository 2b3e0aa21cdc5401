extension UInt8 {
    /// Whether the byte is an ASCII digit.
    package var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }

    /// Whether the byte is an ASCII letter or digit.
    package var isAlphanumeric: Bool { (self | 0x20) &- UInt8(ascii: "a") < 26 || self.isDigit }
}

extension StringProtocol {
    /// Whether the text consists of ASCII digits, at least one.
    package var isDigits: Bool { !self.isEmpty && self.utf8.allSatisfy(\.isDigit) }
}

extension BidirectionalCollection<UInt8> {
    /// The text without the white space that may stand around a value in HTTP (RFC 9110 §5.6.3).
    package var trimmed: SubSequence {
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        var text = self.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return text
    }
}

extension Substring {
    /// The text without the white space that may stand around a value in HTTP.
    package var trimmed: Substring { Substring(self.utf8.trimmed) }
}

/// The tokens of HTTP (RFC 9110 section 5.6.2): the names of header fields, methods and sub-protocols.
package enum HTTPToken {
    /// Whether `text` is a token.
    package static func isValid(_ text: some Collection<UInt8>) -> Bool {
        !text.isEmpty && text.allSatisfy(Self.allows)
    }

    /// Whether a token may contain `byte`.
    static func allows(_ byte: UInt8) -> Bool { byte.isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains(byte) }
}
