/// The head of the server's answer to an upgrade, and what it means.
package struct UpgradeAnswer: Sendable {
    /// The fields to be checked by the code that opened the stream.
    package var head: ResponseHead
    /// The value of `Location`.
    package var location: String?
    /// The value of `Retry-After`.
    package var retryAfter: String?
    /// Whether the head announces a body, which an upgrade must not.
    package var hasBody: Bool
    /// Whether that body comes in chunks.
    package var isChunked: Bool

    /// Makes an answer from its parts.
    package init(head: ResponseHead, location: String?, retryAfter: String?, hasBody: Bool, isChunked: Bool) {
        self.head = head
        self.location = location
        self.retryAfter = retryAfter
        self.hasBody = hasBody
        self.isChunked = isChunked
    }

    /// Nil when the answer opens the stream.
    package var error: ByteStreamError? {
        switch self.head.status {
        case 101 where self.hasBody:
            return ByteStreamError(.handshakeMalformed, "the 101 answer announces a body", status: 101)
        case 101: return nil
        case 300...399:
            let place = self.location.flatMap(Self.origin(of:)).map { " to \($0)" } ?? ""
            let message = "the server redirects\(place) (status \(self.head.status)), which is not followed"
            return ByteStreamError(.redirected, message, status: self.head.status, retryAfter: self.delay)
        case 100...999:
            let message = "the server answered with status \(self.head.status)"
            return ByteStreamError(.refused, message, status: self.head.status, retryAfter: self.delay)
        default: return ByteStreamError(.handshakeMalformed, "the answer has no status")
        }
    }

    /// `Retry-After` in seconds (RFC 9110 section 10.2.3), a day at most; dates are not read.
    package var delay: Duration? {
        guard let text = self.retryAfter, !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        // A number that is too great to read is greater than a day.
        return .seconds(min(Int(text) ?? .max, 86_400))
    }

    /// Adds what is derived from other fields.
    package mutating func complete(cookies: [String], length: String?) {
        self.head.cookies = cookies
        self.head.retryAfter = self.delay
        self.head.hasBody = self.hasBody
        self.head.length = length.map { text in
            let isNumber = !text.isEmpty && text.utf8.allSatisfy { 0x30...0x39 ~= $0 }
            return isNumber ? Int(text) ?? .max : .max
        }
    }

    /// Scheme and host of a URL; the rest may be secret, and so may a user part.
    private static func origin(of url: String) -> String? {
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://") else { return nil }
        let scheme = url[..<colon]
        let rest = url[colon...].dropFirst(3)
        let authority = rest.prefix { !"/?#\\".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? authority
        let isPlain = (scheme + host).utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard isPlain, scheme.utf8.count <= 16, host.utf8.count <= 255 else { return nil }
        return "\(scheme)://\(host)"
    }
}
