/// Writes text into URLs (RFC 3986 section 2.1).
package enum PercentEncoding {
    /// Encodes everything but unreserved characters (RFC 3986 section 2.3).
    package static func escape(_ text: String) -> String {
        var output = ""
        for byte in text.utf8 {
            let isUnreserved =
                (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || [0x2D, 0x2E, 0x5F, 0x7E].contains(byte)
            if isUnreserved {
                output.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                output += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return output
    }
}
