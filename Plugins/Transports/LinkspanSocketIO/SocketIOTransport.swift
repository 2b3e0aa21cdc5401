public import Linkspan
public import LinkspanLWS

/// Carries messages over Socket.IO v5 (Engine.IO v4) on WebSocket.
///
/// The URL's path is the namespace: `https://chat.example/admin` is namespace `/admin` of the server at
/// `https://chat.example`. Connections to namespaces of one server share one WebSocket, as long as they agree on query,
/// headers and options.
public struct SocketIOTransport: Transport {
    /// `socketio`.
    public let name = "socketio"
    /// `http` and `ws`, and `https` and `wss` with TLS.
    public let schemes: Set<String> = ["http", "https", "ws", "wss"]
    /// How it behaves.
    public let configuration: Configuration
    private let engines: SocketIOEngines

    /// Makes a transport.
    ///
    /// Links of one transport share sockets; so do all with the default `loop`.
    ///
    /// - Parameters:
    ///   - configuration: how it behaves.
    ///   - loop: the event loop that the sockets run on.
    public init(_ configuration: Configuration = .defaults(), loop: EventLoop = .shared) {
        self.configuration = configuration
        self.engines = loop === EventLoop.shared ? .shared : SocketIOEngines(loop: loop)
    }

    /// Everything in the configuration, as text.
    public var options: [String: String] {
        [
            "path": self.configuration.path,
            "multiplex": "\(self.configuration.isMultiplexed)",
            "tls": self.configuration.tls.description,
            "compression": self.configuration.compression?.description ?? "none",
            "maximumMessageBytes": "\(self.configuration.maximumMessageBytes)",
            "highWaterMark": "\(self.configuration.highWaterMark)",
        ]
    }

    /// Makes a link to the namespace that the URL's path names.
    public func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        SocketIOLink(request: request, configuration: self.configuration, engines: self.engines, receiver: receiver)
    }
}

extension SocketIOTransport {
    /// How the transport behaves.
    public struct Configuration: Sendable, Hashable {
        /// The path of the Engine.IO endpoint on the server.
        ///
        /// Default `/socket.io/`.
        public var path = "/socket.io/"
        /// How servers are verified over TLS.
        ///
        /// Default: by the system's roots.
        public var tls = TLSPolicy.system
        /// Whether namespaces of one server share a socket.
        ///
        /// Default true.
        public var isMultiplexed = true
        /// How messages are compressed, if the server takes part.
        ///
        /// Default nil: they are not.
        public var compression: CompressionPolicy?
        /// The most bytes of a received message.
        ///
        /// Default 16 MiB.
        public var maximumMessageBytes = 16 << 20
        /// Unsent bytes above which the core has to wait.
        ///
        /// Default 1 MiB.
        public var highWaterMark = 1 << 20

        /// The defaults named at the properties, changed by `configure`.
        public static func defaults(_ configure: (inout Self) -> Void = { _ in }) -> Self {
            var configuration = Self()
            configure(&configuration)
            return configuration
        }

        private init() {}
    }
}

extension Transport where Self == SocketIOTransport {
    /// Socket.IO with default settings.
    public static var socketIO: Self { Self() }

    /// Socket.IO with other settings.
    public static func socketIO(_ configuration: SocketIOTransport.Configuration) -> Self { Self(configuration) }
}
