public import Linkspan
public import LinkspanNetwork
public import LinkspanRuntime
public import LinkspanWebSocketProtocol

/// Carries messages over Socket.IO, on WebSocket or HTTP long polling.
///
/// The URL's path is the namespace: `https://chat.example/admin` is namespace `/admin` of the server at
/// `https://chat.example`. Connections to namespaces of one server share one WebSocket, as long as they agree on query,
/// headers, options and identity: the credential source, the client certificate, name and password for the proxy.
public struct SocketIOTransport: Transport {
    /// `socketio`.
    public let name = "socketio"
    /// `http` and `ws`, and `https` and `wss` with TLS.
    public let schemes: Set<String> = ["http", "https", "ws", "wss"]
    /// The settings, which all links of the transport share.
    final class Settings: Sendable, Hashable {
        let configuration: Configuration

        init(_ configuration: Configuration) { self.configuration = configuration }

        static func == (first: Settings, second: Settings) -> Bool {
            first === second || first.configuration == second.configuration
        }

        func hash(into hasher: inout Hasher) { hasher.combine(self.configuration) }
    }

    private let settings: Settings
    private let engines: SocketIOEngines

    /// Makes a transport.
    ///
    /// Links of one transport share sockets.
    ///
    /// - Parameters:
    ///   - configuration: how it behaves.
    ///   - loop: the event loop that the sockets run on.
    public init(_ configuration: Configuration = .init(), loop: any NetworkLoop) {
        self.init(configuration, engines: SocketIOEngines(loop: loop))
    }

    init(_ configuration: Configuration, engines: SocketIOEngines) {
        self.settings = Settings(configuration)
        self.engines = engines
    }

    /// The settings of the transport.
    public var configuration: Configuration { self.settings.configuration }

    /// The loop.
    public var executor: any JobExecutor { self.engines.loop }

    /// The path, and that of the Unix-domain socket, if there is one.
    public var endpoint: String { self.configuration.endpoint }

    /// Everything in the configuration, as text.
    public var options: [String: String] {
        self.configuration.described(with: [
            "path": self.configuration.path,
            "protocol": self.configuration.protocol.rawValue,
            "carriers": self.configuration.carriers.rawValue,
            "codec": self.configuration.codec.map { Self.describe($0) } ?? "json",
            "multiplex": "\(self.configuration.isMultiplexed)",
        ])
    }

    /// The codec as text that is the same for equal codecs alone.
    private static func describe(_ codec: some SocketIOCodec) -> String {
        "\(codec.name) (\(String(reflecting: type(of: codec))) \(String(UInt(bitPattern: codec.hashValue), radix: 16)))"
    }

    /// The client certificate, and name and password for the proxy.
    public var identity: [String: Secret] {
        self.configuration.identity()
    }

    /// Makes a link to the namespace that the URL's path names.
    public func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        SocketIOLink(request: request, settings: self.settings, engines: self.engines, receiver: receiver)
    }
}

extension SocketIOTransport {
    /// Settings of a Socket.IO transport.
    public struct Configuration: Sendable, Hashable, NetworkConfiguration {
        /// The path of the Engine.IO endpoint on the server.
        ///
        /// Default `/socket.io/`. It ends with a slash, which is added where there is none, as the reference does.
        /// Connections to one URL with different paths are two connections.
        public var path = "/socket.io/" {
            didSet { if !self.path.hasSuffix("/") { self.path += "/" } }
        }
        /// The version of the protocol.
        ///
        /// Default ``Version/v4``.
        public var `protocol` = Version.v4
        /// A codec of packets in place of JSON with attachments; the server has to use the same.
        ///
        /// Default nil: none.
        public var codec: (any SocketIOCodec)? {
            get { self.compared?.codec }
            set { self.compared = newValue.map(ComparedCodec.init) }
        }
        private var compared: ComparedCodec?
        /// The event by which renewed credentials are shown to the server while the link is open: its argument is their
        /// auth payload.
        ///
        /// Default nil: they are for the next link.
        public var renewalEvent: String?
        /// The carriers of the packets.
        ///
        /// Default ``Carriers/webSocket``.
        public var carriers = Carriers.webSocket
        /// The rules for verifying servers over TLS.
        ///
        /// Default: by the system's roots.
        public var tls = TLSPolicy.system
        /// The HTTP proxy to go through.
        ///
        /// Default nil: none.
        public var proxy: NetworkProxy?
        /// The path of a Unix-domain socket to connect to in place of the URL's host and port.
        ///
        /// Default nil: none. The URL still names the host of the `Host` field and of the certificate, and the path of
        /// the request. Connections to one URL over different sockets are different connections. Not with a proxy.
        public var socketPath: String?
        /// The library that carries bytes; of no account for a transport that is given a loop.
        ///
        /// Default ``/LinkspanNetwork/NetworkBackEnd/standard``.
        public var network = NetworkBackEnd.standard
        /// Whether namespaces of one server share a socket.
        ///
        /// Default true.
        public var isMultiplexed = true
        /// The compression of messages, if the server supports it.
        ///
        /// Default nil: they are not.
        public var compression: WebSocketCompression?
        /// The most bytes of a received message.
        ///
        /// Default 16 MiB.
        public var maximumMessageBytes = 16 << 20
        /// Unsent bytes above which the core has to wait.
        ///
        /// Default 1 MiB.
        public var highWaterMark = 1 << 20

        /// The place on the server, and the way to it.
        var endpoint: String { self.socketPath.map { "\(self.path) over \($0)" } ?? self.path }

        /// The defaults named at the properties, changed by `configure`.
        public init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }
    }
}

/// A codec of any type, compared by content.
private struct ComparedCodec: Sendable, Hashable {
    let codec: any SocketIOCodec

    static func == (one: Self, other: Self) -> Bool { AnyHashable(one.codec) == AnyHashable(other.codec) }

    func hash(into hasher: inout Hasher) { self.codec.hash(into: &hasher) }
}

extension SocketIOTransport {
    /// A line of Socket.IO servers.
    public enum Version: String, Sendable, Hashable, CaseIterable {
        /// Servers of version 3 and 4: protocol Socket.IO v5 over Engine.IO v4.
        case v4
        /// Servers of version 2, and newer ones with `allowEIO3`: protocol Socket.IO v4 over Engine.IO v3.
        ///
        /// They have no payload for authentication: give tokens as headers, or as query items of the URL. For a
        /// namespace other than `/` the members of the payload are sent as its query.
        case v2

        var engineIO: EngineIOVersion {
            switch self {
            case .v4: .v4
            case .v2: .v3
            }
        }
    }

    /// The carriers of Engine.IO packets.
    public enum Carriers: String, Sendable, Hashable, CaseIterable {
        /// A WebSocket from the start: one connection, the shortest way.
        case webSocket = "websocket"
        /// Long polling alone: HTTP requests, for networks that let nothing else through.
        case polling
        /// Long polling at first, and a WebSocket as soon as one has proved itself.
        ///
        /// What the reference client does.
        case upgrade
        /// A WebSocket, and long polling where none can be opened.
        ///
        /// When the failure was about WebSockets, and not about a busy or absent server, one is tried beside the session
        /// every ten minutes, and sessions that begin within the next ten minutes poll first and probe at once.
        case fallback
    }
}

extension Transport where Self == SocketIOTransport {
    /// Socket.IO with default settings.
    public static var socketIO: Self { Self() }

    /// Socket.IO with other settings.
    public static func socketIO(_ configuration: SocketIOTransport.Configuration) -> Self { Self(configuration) }
}
