public import Linkspan
public import LinkspanLWS

/// Carries messages over a raw WebSocket (RFC 6455), wrapped by an envelope codec.
public struct WebSocketTransport: Transport {
    /// `websocket`.
    public let name = "websocket"
    /// `ws`, `wss`, and their HTTP spellings.
    public let schemes: Set<String> = ["ws", "wss", "http", "https"]
    /// How it behaves.
    public let configuration: Configuration
    private let loop: EventLoop

    /// Makes a transport.
    ///
    /// - Parameters:
    ///   - configuration: how it behaves.
    ///   - loop: the event loop that the sockets run on.
    public init(_ configuration: Configuration = .defaults(), loop: EventLoop = .shared) {
        self.configuration = configuration
        self.loop = loop
    }

    /// Everything in the configuration, as text.
    public var options: [String: String] {
        let keepAlive = self.configuration.keepAlive.map { "every \($0.interval), \($0.timeout) to answer" }
        return [
            "codec": self.configuration.codec.name,
            "subprotocols": self.configuration.subprotocols.joined(separator: ","),
            "tls": self.configuration.tls.description,
            "keepAlive": keepAlive ?? "never",
            "compression": self.configuration.compression?.description ?? "none",
            "maximumMessageBytes": "\(self.configuration.maximumMessageBytes)",
            "highWaterMark": "\(self.configuration.highWaterMark)",
        ]
    }

    /// Makes a link.
    public func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        WebSocketLink(request: request, configuration: self.configuration, loop: self.loop, receiver: receiver)
    }
}

extension WebSocketTransport {
    /// How the transport behaves.
    public struct Configuration: Sendable {
        /// What messages look like.
        ///
        /// Default ``JSONEnvelopeCodec``.
        public var codec: any EnvelopeCodec = JSONEnvelopeCodec()
        /// Sub-protocols to offer besides those of the codec.
        ///
        /// Default none.
        public var subprotocols: [String] = []
        /// How servers are verified over TLS.
        ///
        /// Default: by the system's roots.
        public var tls = TLSPolicy.system
        /// When a silent server is pinged.
        ///
        /// Default: every 15 s, 10 s to answer. Nil for never.
        public var keepAlive: KeepAlive? = .init()
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

extension WebSocketTransport {
    /// When a silent server is pinged, and how long it may take to answer.
    public struct KeepAlive: Sendable, Hashable {
        /// How often a ping is sent.
        ///
        /// Default 15 s.
        public var interval: Duration
        /// How long the server may be silent after a ping.
        ///
        /// Default 10 s.
        public var timeout: Duration

        /// Makes a rule.
        ///
        /// A server that has vanished is noticed after at most `interval` + `timeout`.
        public init(interval: Duration = .seconds(15), timeout: Duration = .seconds(10)) {
            self.interval = interval
            self.timeout = timeout
        }
    }
}

extension Transport where Self == WebSocketTransport {
    /// Raw WebSocket with the default JSON envelope.
    public static var webSocket: Self { Self() }

    /// Raw WebSocket with other settings.
    public static func webSocket(_ configuration: WebSocketTransport.Configuration) -> Self { Self(configuration) }
}
