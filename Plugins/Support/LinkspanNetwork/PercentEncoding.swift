internal import LinkspanWebSocketProtocol

/// Writes text into URLs (RFC 3986 section 2.1).
package enum PercentEncoding {
    /// Encodes everything but unreserved characters (RFC 3986 section 2.3).
    package static func escape(_ text: String) -> String {
        var output = ""
        for byte in text.utf8 {
            if byte.isAlphanumeric || "-._~".utf8.contains(byte) {
                output.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                output += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return output
    }
}
