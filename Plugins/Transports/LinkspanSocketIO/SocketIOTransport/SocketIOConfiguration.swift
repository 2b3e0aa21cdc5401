public import LinkspanNetwork
public import LinkspanWebSocketProtocol

/// The options of a Socket.IO transport.
public struct SocketIOConfiguration: Sendable, Hashable, NetworkConfiguration {
    /// The path of the Engine.IO endpoint on the server (default `/socket.io/`).
    ///
    /// It ends with a slash, which is added where there is none, as the reference does. Connections to one URL with
    /// different paths are two connections.
    public var path = "/socket.io/" {
        didSet { if !self.path.hasSuffix("/") { self.path += "/" } }
    }
    /// The version of the protocol (default ``Version/v4``).
    public var `protocol` = Version.v4
    /// A codec of packets in place of JSON with attachments; the server has to use the same (default nil: none).
    public var codec: (any SocketIOCodec)? {
        get { self.compared?.codec }
        set { self.compared = newValue.map(ComparedCodec.init) }
    }
    private var compared: ComparedCodec?
    /// The event by which renewed credentials are shown to the server while the link is open: its argument is their
    /// auth payload (default nil: they are for the next link).
    ///
    /// The standard name is ``/Linkspan/Credentials/renewalEvent``.
    public var renewalEvent: String?
    /// The carriers of the packets (default ``SocketIOCarriers/webSocket``).
    public var carriers = SocketIOCarriers.webSocket
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
    /// Whether namespaces of one server share a socket (default true).
    public var isMultiplexed = true
    /// The compression of messages, if the server supports it (default nil: none).
    public var compression: WebSocketCompression?
    /// The most bytes of a received message (default 16 MiB).
    public var maximumMessageBytes = 16 << 20
    /// Unsent bytes above which the core has to wait (default 1 MiB).
    public var highWaterMark = 1 << 20

    /// The place on the server, and the way to it.
    var endpoint: String { self.socketPath.map { "\(self.path) over \($0)" } ?? self.path }

    /// The defaults named at the properties, changed by `configure`.
    public init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }
}

extension SocketIOConfiguration {
    /// A line of Socket.IO servers.
    public enum Version: String, Sendable, Hashable, CaseIterable {
        /// Servers of version 3 and 4: protocol Socket.IO v5 over Engine.IO v4.
        case v4
        /// Servers of version 2, and newer ones with `allowEIO3`: protocol Socket.IO v4 over Engine.IO v3.
        ///
        /// They have no payload for authentication: give tokens as headers, or as query items of the URL. For a
        /// namespace other than `/` the members of the payload are sent as its query.
        case v2

        var engineIO: EngineIOVersion { self == .v4 ? .v4 : .v3 }
    }
}

/// A codec of any type, compared by content.
private struct ComparedCodec: Sendable, Hashable {
    let codec: any SocketIOCodec

    static func == (one: Self, other: Self) -> Bool { AnyHashable(one.codec) == AnyHashable(other.codec) }

    func hash(into hasher: inout Hasher) { self.codec.hash(into: &hasher) }
}

// MARK: - For the layers below
