/// The tokens of HTTP (RFC 9110 section 5.6.2): the names of header fields, methods and sub-protocols.
package enum HTTPToken {
    /// Whether `text` is a token.
    package static func isValid(_ text: some Collection<UInt8>) -> Bool {
        !text.isEmpty && text.allSatisfy(Self.allows)
    }

    /// Whether a token may contain `byte`.
    static func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
