#if canImport(FoundationEssentials)
private import FoundationEssentials
#else
private import Foundation
#endif

/// Base64 with padding (RFC 4648 section 4).
package enum Base64 {
    /// The length of the text of so many bytes.
    package static func length(of count: Int) -> Int { (count + 2) / 3 * 4 }

    /// The text of `bytes`.
    package static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// Appends the text of `bytes`.
    package static func append(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) {
        text += Data(bytes).base64EncodedData()
    }

    /// The bytes that `text` stands for; nil when it is not what an encoder writes: whole groups, padded at the end.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let text = Data(text)
        // Foundation alone passes over bits and characters behind the last byte.
        guard let bytes = Data(base64Encoded: text), bytes.base64EncodedData() == text else { return nil }
        return Array(bytes)
    }

    /// Whether `text` stands for exactly 16 bytes, as a client's key must.
    static func isSixteenBytes(_ text: String) -> Bool {
        text.prefix { $0 != "=" }.utf8.count == 22 && Data(base64Encoded: text)?.count == 16
    }
}
