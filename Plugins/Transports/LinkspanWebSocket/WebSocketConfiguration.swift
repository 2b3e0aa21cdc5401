public import Linkspan
public import LinkspanNetwork
public import LinkspanWebSocketProtocol

/// The options of a raw WebSocket transport.
public struct WebSocketConfiguration: Sendable, NetworkConfiguration {
    /// What the messages mean (default ``JSONMessageProtocol``).
    public var `protocol`: any MessageProtocol = JSONMessageProtocol()
    /// Sub-protocols to offer besides those of the protocol (default none).
    public var subprotocols: [String] = []
    /// Header fields of the upgrade request besides those of the credentials (default none).
    ///
    /// Give secrets as credentials.
    public var headers: [Credentials.Field] = []
    /// The names of those header fields of the server's response to the upgrade that ``/Linkspan/LinkInfo/headers`` keeps
    /// (default none); `*` keeps all, under their names in lower case.
    public var responseHeaders: [String] = []
    /// The event by which renewed credentials are shown to the server while the link is open: its argument is their
    /// auth payload (default nil: they are for the next link, unless the protocol has a message for them).
    ///
    /// The standard name is ``/Linkspan/Credentials/renewalEvent``.
    public var renewalEvent: String?
    /// The code and reason with which we close (default 1000 without a reason).
    ///
    /// ``/Linkspan/ConnectionHandler/disconnect(code:reason:)`` gives others for one call.
    public var closing = WebSocketClose()
    /// Meanings of the server's close codes that differ from the standard ones.
    ///
    /// Default: nothing else.
    public var closeMeanings: CloseMeanings = [:]
    /// The rules for verifying servers over TLS.
    ///
    /// Default: by the system's roots.
    public var tls = TLSPolicy.system
    /// The HTTP proxy to go through (default nil: none).
    public var proxy: NetworkProxy?
    /// The path of a Unix-domain socket to connect to in place of the URL's host and port (default nil: none).
    ///
    /// The URL still names the host of the `Host` field and of the certificate, and the path of the request.
    /// Connections to one URL over different sockets are different connections. Not with a proxy.
    public var socketPath: String?
    /// The library that carries bytes; ignored by a transport that is given a loop (default
    /// ``/LinkspanNetwork/NetworkBackEnd/standard``).
    public var network = NetworkBackEnd.standard
    /// The rule for pinging a silent server.
    ///
    /// Default: every 15 s, 10 s to answer. Nil for never.
    public var keepAlive: WebSocketKeepAlive? = .init()
    /// The compression of messages, if the server supports it (default nil: none).
    public var compression: WebSocketCompression?
    /// The most bytes of a received message (default 16 MiB).
    public var maximumMessageBytes = 16 << 20
    /// Unsent bytes above which the core has to wait (default 1 MiB).
    public var highWaterMark = 1 << 20

    /// The defaults named at the properties, changed by `configure`.
    public init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }

    /// The names, and whether the values are the same, but not which they are.
    var headersDescription: String {
        let names = self.headers.map(\.name).joined(separator: ",")
        return names.isEmpty ? "none" : "\(names) (\(String(UInt(bitPattern: self.headers.hashValue), radix: 16)))"
    }
}
