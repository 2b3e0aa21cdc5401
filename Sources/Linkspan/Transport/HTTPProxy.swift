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
    /// The name to show to the proxy, nil for none.
    public var user: String?
    /// The password that goes with the name.
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
    ///   - password: the password that goes with the name.
    /// - Throws: ``LinkspanError`` with code `invalidConfiguration` for anything else.
    public init(_ text: String, user: String? = nil, password: Secret? = nil) throws(LinkspanError) {
        let url: ConnectionURL
        do throws(LinkspanError) {
            url = try ConnectionURL(text.contains("://") ? text : "http://\(text)")
        } catch {
            throw LinkspanError(.invalidConfiguration, "the proxy is not understood: \(error.message)")
        }
        guard url.scheme == "http", url.path == "/", url.query == nil else {
            throw LinkspanError(.invalidConfiguration, "a proxy is http://, a host and a port, and nothing more")
        }
        self.init(host: url.host, port: url.port, user: user, password: password)
    }
}

extension HTTPProxy: CustomStringConvertible {
    /// Where the proxy is, and whether anything is shown to it.
    public var description: String {
        let place = "\(self.host.contains(":") ? "[\(self.host)]" : self.host):\(self.port)"
        return self.user == nil ? place : "\(place) with credentials"
    }
}
