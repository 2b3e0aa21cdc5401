/// A request to turn an HTTP/1.1 exchange into a stream of bytes (RFC 9110 section 7.8).
public struct UpgradeRequest: Sendable {
    /// A header field and its value.
    public typealias Header = (name: String, value: String)

    /// A host name, or a numeric address (IPv6 with or without brackets).
    public var host: String
    /// The TCP port.
    public var port: Int
    /// Whether the stream runs over TLS.
    public var isSecure: Bool
    /// The path and query, from `/` on, already percent-encoded.
    public var target: String
    /// The header fields, in the order they are sent.
    ///
    /// `Host` is made from the host and port, and no `Connection` or `Upgrade` is added: the caller gives those.
    public var headers: [Header]
    /// The value of `Origin`, or nil for none.
    public var origin: String?
    /// How the server is verified when the stream is secure.
    public var tls: TLSOptions
    /// The proxy to go through, nil for none; variables of the environment are not looked at.
    public var proxy: ProxyOptions?
    /// Whether this is the question to a proxy why it refuses.
    var isProxyProbe = false
    /// The time for name look-up, TCP, TLS and upgrade together; 10 seconds unless set, 60 at most.
    public var deadline: Duration
    /// The number of bytes waiting to be sent at which ``ByteStreamHandler/drained()`` is called; 64 KiB unless set.
    public var lowWaterMark: Int
    /// What makes it an exchange, whose answer has a body, instead of an upgrade.
    var exchange: Exchange?

    /// The parts that only an exchange has.
    struct Exchange: Sendable {
        var method: String
        var bodyLength: Int
    }

    /// Makes a request; see the properties for the defaults.
    public init(
        host: String, port: Int, isSecure: Bool, target: String = "/", headers: [Header] = [], origin: String? = nil,
        tls: TLSOptions = TLSOptions(), deadline: Duration = .seconds(10), lowWaterMark: Int = 64 * 1024,
        proxy: ProxyOptions? = nil
    ) {
        self.host = host
        self.port = port
        self.isSecure = isSecure
        self.target = target
        self.headers = headers
        self.origin = origin
        self.tls = tls
        self.deadline = deadline
        self.lowWaterMark = lowWaterMark
        self.proxy = proxy
    }
}
