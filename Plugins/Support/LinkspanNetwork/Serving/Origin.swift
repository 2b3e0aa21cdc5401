/// The origin of a web page: its scheme, host and port (RFC 6454).
package struct Origin: Sendable, Hashable {
    private let scheme: String
    /// Nil for `null`, the origin of files and of sandboxed frames.
    private let authority: Authority?
    private let port: Int?

    /// Reads an `Origin` field or a configured origin; nil when it is none.
    package init?(_ text: String) {
        let parts = text.lowercased().split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        self.scheme = String(parts[0])
        guard text != "null" else {
            (self.authority, self.port) = (nil, nil)
            return
        }
        guard parts.count == 2, parts[1].hasPrefix("//"), let authority = Authority(parts[1].dropFirst(2)) else {
            return nil
        }
        self.port = authority.port ?? Self.defaultPort(self.scheme)
        self.authority = Authority(host: authority.host)
    }

    /// Whether the origin is a server on this machine; see ``Authority/isLoopback``.
    package var isLoopback: Bool { self.authority?.isLoopback ?? false }

    /// Whether the page was loaded from the server that `host` names: their hosts and ports are equal.
    ///
    /// The scheme is not compared: in front of a server without TLS there may be a proxy that has it.
    package func isServed(by host: Authority) -> Bool {
        self.authority?.host == host.host && self.port == host.port ?? Self.defaultPort(self.scheme)
    }

    private static func defaultPort(_ scheme: String) -> Int? {
        switch scheme {
        case "http": 80
        case "https": 443
        default: nil
        }
    }
}
