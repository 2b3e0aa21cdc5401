public import Linkspan
internal import LinkspanWebSocketProtocol

/// A proxy that every connection of a transport goes through.
///
/// The proxy looks up the server's name and sees nothing of what a secure connection carries. It is spoken to without
/// TLS, so that name and password are in the clear on the way to it. Variables of the environment such as `http_proxy`
/// are not looked at.
public struct NetworkProxy: Sendable, Hashable {
    /// The protocol between client and proxy.
    public enum Kind: String, CaseIterable, Sendable {
        /// `CONNECT` of HTTP/1.1 (RFC 9110 section 9.3.6), with the basic scheme for name and password (RFC 7617).
        case http
        /// SOCKS version 5 (RFC 1928), with name and password as RFC 1929 has them.
        case socks5
    }

    /// The protocol that the proxy speaks.
    public var kind: Kind
    /// The proxy's host; an IPv6 address without its brackets.
    public var host: String
    /// The proxy's port.
    public var port: Int
    /// The user name for the proxy; nil for none.
    public var user: String?
    /// The password for the proxy.
    public var password: Secret?

    /// Makes a proxy.
    public init(_ kind: Kind = .http, host: String, port: Int, user: String? = nil, password: Secret? = nil) {
        self.kind = kind
        self.host = host
        self.port = port
        self.user = user
        self.password = password
    }

    /// Reads a proxy.
    ///
    /// - Parameters:
    ///   - text: `http://proxy.example:3128`, the same without a scheme, or `socks5://proxy.example:1080`, also spelled
    ///     `socks5h`. Without a port, HTTP has 80 and SOCKS 1080.
    ///   - user: the name to show to the proxy.
    ///   - password: the password.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `invalidConfiguration` for anything else.
    public init(_ text: String, user: String? = nil, password: Secret? = nil) throws(LinkspanError) {
        let (scheme, place) = Self.split(text)
        guard let kind = Self.kinds[scheme] else { throw Self.malformed }
        guard !place.contains("@") else {
            throw LinkspanError(
                .invalidConfiguration,
                "the proxy is invalid: its user name and password do not belong into its address; they have options of their own"
            )
        }
        let url: ConnectionURL
        do throws(LinkspanError) {
            url = try ConnectionURL("http://\(place)")
        } catch {
            throw LinkspanError(.invalidConfiguration, "the proxy is invalid: \(error.message)")
        }
        guard url.path == "/", url.query == nil else { throw Self.malformed }
        let hasPort = place.hasSuffix(":\(url.port)") || place.hasSuffix(":\(url.port)/")
        let port = kind == .socks5 && !hasPort ? Self.usualSOCKSPort : url.port
        self.init(kind, host: url.host, port: port, user: user, password: password)
    }

    private static let malformed = LinkspanError(
        .invalidConfiguration, "a proxy has the form http://host:port or socks5://host:port")
    private static let usualSOCKSPort = 1080
    private static let kinds: [String: Kind] = ["http": .http, "socks5": .socks5, "socks5h": .socks5]

    private static func split(_ text: String) -> (scheme: String, place: String) {
        guard let mark = text.firstRange(of: "://") else { return ("http", text) }
        return (text[..<mark.lowerBound].lowercased(), String(text[mark.upperBound...]))
    }
}

extension NetworkProxy: CustomStringConvertible {
    /// The proxy's address, with the protocol unless it is HTTP, and whether it gets credentials.
    public var description: String {
        let place = "\(self.host.contains(":") ? "[\(self.host)]" : self.host):\(self.port)"
        let text = self.kind == .http ? place : "\(self.kind.rawValue)://\(place)"
        return self.user == nil ? text : "\(text) with credentials"
    }
}

extension NetworkProxy {
    /// The most bytes of a name, and of a password: SOCKS has one byte for their length.
    private static let credentialLimit = 255

    /// Checks what would be cut or misread.
    ///
    /// Throws `invalidRequest` for a host, a port or a character that must not be sent, `requestTooLong` for a name or a
    /// password with more than 255 bytes.
    package func validated() throws(ByteStreamError) {
        let isPlain = self.host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "@") }
        guard isPlain, !self.host.isEmpty, self.host.utf8.count <= 100, (1...65_535).contains(self.port) else {
            throw ByteStreamError(.invalidRequest, "the proxy's host or port is not valid")
        }
        guard let user = self.user else { return }
        let password = self.password?.exposed ?? ""
        let limit = Self.credentialLimit
        guard user.utf8.count <= limit, password.utf8.count <= limit else {
            throw ByteStreamError(
                .requestTooLong, "the name or the password for the proxy has more than \(limit) bytes")
        }
        switch self.kind {
        case .http:
            guard "\(user)\(password)".utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw ByteStreamError(
                    .invalidRequest, "the proxy's name or password has a space or a character outside ASCII")
            }
            guard !user.contains(":") else {
                throw ByteStreamError(.invalidRequest, "the name for the proxy has a colon")
            }
        case .socks5:
            guard !user.isEmpty else { throw ByteStreamError(.invalidRequest, "the name for the proxy is empty") }
        }
    }

    /// The header that shows name and password to an HTTP proxy (RFC 7617), nil without a name.
    ///
    /// The caller is responsible for keeping it out of logs, files and messages.
    package var header: (name: String, value: String)? {
        self.user.map { user in
            let credentials = "\(user):\(self.password?.exposed ?? "")"
            return ("Proxy-Authorization", "Basic \(Base64.encode(Array(credentials.utf8)))")
        }
    }
}

extension NetworkProxy {
    /// The options of a configuration that make a proxy; the same for every transport.
    static let options: [PluginOption] = [
        PluginOption(
            "proxy", .text, fallback: "none",
            "The proxy: http://proxy.example:3128 or socks5://proxy.example:1080; HTTP without a scheme."),
        PluginOption("proxyUser", .text, fallback: "none", "The user name for the proxy."),
        PluginOption(
            "proxyPassword", .text, fallback: "none", isSecret: true, "The password for the proxy."),
    ]

    /// Makes a proxy of a configuration's values, nil when there is none.
    ///
    /// - Throws: ``LinkspanError`` with code `invalidConfiguration` when it is not understood, and for a name or password
    ///   without a proxy.
    static func make(_ values: OptionValues) throws(LinkspanError) -> Self? {
        let (user, password) = (values["proxyUser"] as String?, values["proxyPassword"] as String?)
        guard let text: String = values["proxy"] else {
            guard user == nil, password == nil else {
                throw LinkspanError(.invalidConfiguration, "name and password of a proxy need the option proxy")
            }
            return nil
        }
        guard user != nil || password == nil else {
            throw LinkspanError(.invalidConfiguration, "the proxy's password needs the option proxyUser")
        }
        return try Self(text, user: user, password: password.map { Secret($0) })
    }
}
