internal import LinkspanWebSocketProtocol

/// The host and port of a `Host` field or of an origin.
package struct Authority: Sendable, Hashable {
    /// In lower case, without brackets and without the dot that may end a name.
    package let host: String
    /// The port; nil when none is given.
    package let port: Int?

    /// Takes a host without a port.
    package init(host: String) { (self.host, self.port) = (host, nil) }

    /// Reads `host`, `host:port`, `[address]` or `[address]:port`; nil for anything else.
    package init?(_ text: some StringProtocol) {
        let text = text.lowercased()
        let end: String.Index
        if text.hasPrefix("[") {
            guard let bracket = text.firstIndex(of: "]") else { return nil }
            self.host = String(text[..<bracket].dropFirst())
            guard NumericAddress.isIPv6(self.host) else { return nil }
            end = text.index(after: bracket)
        } else {
            end = text.firstIndex(of: ":") ?? text.endIndex
            let name = text[..<end]
            self.host = String(name.hasSuffix(".") ? name.dropLast() : name)
            guard !self.host.isEmpty, self.host.utf8.allSatisfy(Self.isNameByte) else { return nil }
        }
        guard end < text.endIndex else {
            self.port = nil
            return
        }
        guard text[end] == ":", let port = UInt16(text[text.index(after: end)...]) else { return nil }
        self.port = Int(port)
    }

    /// Whether a host's name may contain a byte.
    static func isNameByte(_ byte: UInt8) -> Bool { byte.isAlphanumeric || "-._".utf8.contains(byte) }

    /// Whether the host is an address and not a name.
    package var isNumeric: Bool { NumericAddress.isIPv4(self.host) || NumericAddress.isIPv6(self.host) }

    /// Whether the host is `127.0.0.0/8`, `::1`, `localhost` or a subdomain of `localhost` (RFC 6761 §6.3).
    package var isLoopback: Bool {
        if NumericAddress.isIPv4(self.host) { return self.host.hasPrefix("127.") }
        return self.host == "::1" || self.host == "localhost" || self.host.hasSuffix(".localhost")
    }
}
