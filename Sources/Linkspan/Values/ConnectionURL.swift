/// An endpoint in canonical form: two spellings of the same endpoint are equal, and share a connection.
///
/// Scheme and host are lower case, the scheme's default port is left out, an empty path is `/`, percent-escapes are
/// upper case and unreserved characters are unescaped (RFC 3986 §6.2.2). The order of the query is left alone.
public struct ConnectionURL: Sendable, Hashable, CustomStringConvertible {
    /// The scheme, lower case.
    public let scheme: String
    /// The host, lower case; an IPv6 address without its brackets.
    ///
    /// Empty for schemes without one.
    public let host: String
    /// The port, also when it is the default one; 0 for schemes without ports.
    public let port: Int
    /// The path, beginning with `/`.
    public let path: String
    /// The query, which often holds tokens, so that reflection does not show it.
    private let hiddenQuery: Secret?

    /// The query without the question mark, or nil.
    public var query: String? { self.hiddenQuery?.exposed }

    /// Reads a URL.
    ///
    /// - Parameter text: an absolute URL, such as `https://chat.example/lobby`.
    /// - Throws: ``LinkspanError`` with code `invalidURL` and the invalid part.
    public init(_ text: String) throws(LinkspanError) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw Self.invalid("it has a space or a character outside ASCII; write that with %, in a host as xn--…")
        }
        guard let colon = text.firstRange(of: "://") else { throw Self.invalid("it does not begin with scheme://") }
        self.scheme = text[..<colon.lowerBound].lowercased()
        guard Self.isScheme(self.scheme) else { throw Self.invalid("the scheme is not valid") }
        var rest = text[colon.upperBound...]
        if let hash = rest.firstIndex(of: "#") { rest = rest[..<hash] }
        let authorityEnd = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let authority = rest[..<authorityEnd]
        guard !authority.contains("@") else {
            throw Self.invalid("it holds a user name or password; give those to a credential provider")
        }
        (self.host, self.port) = try Self.parse(authority: authority, scheme: self.scheme)
        rest = rest[authorityEnd...]
        let question = rest.firstIndex(of: "?")
        let path = try Self.normalise(rest[..<(question ?? rest.endIndex)])
        self.path = path.isEmpty ? "/" : path
        self.hiddenQuery = try question.map { question throws(LinkspanError) in
            Secret(try Self.normalise(rest[rest.index(after: question)...]))
        }
    }

    /// Whether the scheme asks for TLS.
    package var isSecure: Bool { ["https", "wss"].contains(self.scheme) }

    /// Host and port, an IPv6 address in brackets.
    package var authority: String { "\(self.bracketedHost):\(self.port)" }

    private var bracketedHost: String { self.host.contains(":") ? "[\(self.host)]" : self.host }

    /// The URL in canonical form, query included.
    ///
    /// Use ``description`` for logs.
    public var text: String { self.description + (self.query.map { "?\($0)" } ?? "") }

    /// The URL without its query, which often holds tokens: safe for logs.
    public var description: String {
        let hasDefaultPort = self.port == 0 || self.port == Self.defaultPort(of: self.scheme)
        return "\(self.scheme)://\(self.bracketedHost)\(hasDefaultPort ? "" : ":\(self.port)")\(self.path)"
    }

    /// A text that is to be a URL, safe for logs: without the query, and not at all when it is none and could be anything.
    package static func redacted(_ text: String) -> String { (try? Self(text).description) ?? "(unreadable)" }

    private static func invalid(_ why: String) -> LinkspanError {
        LinkspanError(.invalidURL, "the URL cannot be used: \(why)")
    }
}

extension ConnectionURL {
    private static func defaultPort(of scheme: String) -> Int {
        switch scheme {
        case "http", "ws": 80
        case "https", "wss": 443
        default: 0
        }
    }

    private static func isScheme(_ text: String) -> Bool {
        guard let first = text.utf8.first, Self.isLetter(first) else { return false }
        return text.utf8.allSatisfy { Self.isLetter($0) || Self.isDigit($0) || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E }
    }

    private static func parse(
        authority: Substring, scheme: String
    ) throws(LinkspanError) -> (host: String, port: Int) {
        let isNetwork = Self.defaultPort(of: scheme) != 0
        var host = authority
        var portText: Substring?
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]") else { throw Self.invalid("the bracket is not closed") }
            host = authority[authority.index(after: authority.startIndex)..<bracket]
            let rest = authority[authority.index(after: bracket)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { throw Self.invalid("the host is not valid") }
            portText = rest.isEmpty ? nil : rest.dropFirst()
            guard host.utf8.allSatisfy({ Self.isHexDigit($0) || $0 == 0x3A || $0 == 0x2E }), host.contains(":") else {
                throw Self.invalid("the IPv6 address is not valid")
            }
        } else {
            if let colon = authority.firstIndex(of: ":") {
                host = authority[..<colon]
                portText = authority[authority.index(after: colon)...]
            }
            let allowed = host.utf8.allSatisfy { byte in
                Self.isLetter(byte) || Self.isDigit(byte) || byte == 0x2D || byte == 0x2E || byte == 0x5F
            }
            guard allowed else { throw Self.invalid("the host is not valid") }
        }
        guard !isNetwork || !host.isEmpty else { throw Self.invalid("the host is missing (an IPv6 address has [ ])") }
        guard let portText, !portText.isEmpty else { return (host.lowercased(), Self.defaultPort(of: scheme)) }
        guard let port = Int(portText), (1...65_535).contains(port), portText.utf8.allSatisfy(Self.isDigit) else {
            throw Self.invalid("the port is not a number from 1 to 65535 (an IPv6 address has [ ])")
        }
        return (host.lowercased(), port)
    }

    /// Brings percent-escapes into one form.
    private static func normalise(_ text: Substring) throws(LinkspanError) -> String {
        guard text.utf8.contains(0x25) else { return String(text) }
        var output: [UInt8] = []
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            guard byte == 0x25 else {
                output.append(byte)
                continue
            }
            guard let high = bytes.next(), let low = bytes.next(), let first = JSONScanner.hexValue(high),
                let second = JSONScanner.hexValue(low)
            else { throw Self.invalid("a percent sign is not followed by two hexadecimal digits") }
            let value = UInt8(first << 4 | second)
            let isUnreserved =
                Self.isLetter(value) || Self.isDigit(value) || [0x2D, 0x2E, 0x5F, 0x7E].contains(value)
            if isUnreserved {
                output.append(value)
            } else {
                output.append(0x25)
                output.append(
                    contentsOf: String([Character(Unicode.Scalar(high)), Character(Unicode.Scalar(low))])
                        .uppercased().utf8)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }
    private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
    private static func isHexDigit(_ byte: UInt8) -> Bool { JSONScanner.hexValue(byte) != nil }
}
