public import Linkspan
internal import LinkspanWebSocketProtocol

/// An HTTP proxy that every connection of a transport goes through, by `CONNECT` (RFC 9110 section 9.3.6).
///
/// The proxy looks up the server's name and sees nothing of what a secure connection carries. It is spoken to without
/// TLS, and name and password go to it by the basic scheme (RFC 7617), which hides nothing on the way to the proxy.
/// Variables of the environment such as `http_proxy` are not looked at.
public struct HTTPProxy: Sendable, Hashable {
    /// The proxy's host; an IPv6 address without its brackets.
    public var host: String
    /// The proxy's port.
    public var port: Int
    /// The user name for the proxy; nil for none.
    public var user: String?
    /// The password for the proxy.
    public var password: Secret?

    /// Makes a proxy.
    public init(host: String, port: Int, user: String? = nil, password: Secret? = nil) {
        self.host = host
        self.port = port
        self.user = user
        self.password = password
    }

    /// Reads a proxy.
    ///
    /// - Parameters:
    ///   - text: `proxy.example:3128`, or the same as a URL, `http://proxy.example:3128`.
    ///   - user: the name to show to the proxy.
    ///   - password: the password.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `invalidConfiguration` for anything else.
    public init(_ text: String, user: String? = nil, password: Secret? = nil) throws(LinkspanError) {
        let url: ConnectionURL
        do throws(LinkspanError) {
            url = try ConnectionURL(text.contains("://") ? text : "http://\(text)")
        } catch {
            throw LinkspanError(.invalidConfiguration, "the proxy is invalid: \(error.message)")
        }
        guard url.scheme == "http", url.path == "/", url.query == nil else {
            throw LinkspanError(.invalidConfiguration, "a proxy has the form http://host:port")
        }
        self.init(host: url.host, port: url.port, user: user, password: password)
    }
}

extension HTTPProxy: CustomStringConvertible {
    /// The proxy's address, and whether it gets credentials.
    public var description: String {
        let place = "\(self.host.contains(":") ? "[\(self.host)]" : self.host):\(self.port)"
        return self.user == nil ? place : "\(place) with credentials"
    }
}

extension HTTPProxy {
    /// The most bytes of name and password together that every back end carries: libwebsockets has 128 bytes for their
    /// base64.
    private static let credentialLimit = 95

    /// Checks what would be cut or misread.
    ///
    /// Throws `invalidRequest` for a host, a port or a character that must not be sent, `requestTooLong` for name and
    /// password with more than 95 bytes.
    public func validated() throws(ByteStreamError) {
        let isPlain = self.host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "@") }
        guard isPlain, !self.host.isEmpty, self.host.utf8.count <= 100, (1...65_535).contains(self.port) else {
            throw ByteStreamError(.invalidRequest, "the proxy's host or port is not valid")
        }
        guard let credentials = self.credentials else { return }
        guard credentials.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw ByteStreamError(
                .invalidRequest, "the proxy's name or password has a space or a character outside ASCII")
        }
        guard self.user?.contains(":") == false else {
            throw ByteStreamError(.invalidRequest, "the name for the proxy has a colon")
        }
        guard credentials.utf8.count <= Self.credentialLimit else {
            let limit = Self.credentialLimit
            throw ByteStreamError(.requestTooLong, "name and password for the proxy have more than \(limit) bytes")
        }
    }

    /// Name and password as the basic scheme has them, nil without a name.
    ///
    /// The caller is responsible for keeping it out of logs, files and messages.
    public var credentials: String? { self.user.map { "\($0):\(self.password?.exposed ?? "")" } }

    /// The header that shows name and password (RFC 7617), nil without a name.
    public var header: UpgradeRequest.Header? {
        self.credentials.map { ("Proxy-Authorization", "Basic \(Base64.encode(Array($0.utf8)))") }
    }
}
