public import LinkspanNetwork

/// The options of a development server.
public struct DevServerConfiguration: Sendable, Hashable {
    /// The numeric address to listen at, IPv4 or IPv6 without brackets.
    ///
    /// Default `127.0.0.1`: other machines reach the server only if another address is set.
    public var address = "127.0.0.1"
    /// The port; 0, the default, for any that is free.
    public var port = 0
    /// The path of a Unix-domain socket to listen at in place of address and port (default nil: none).
    ///
    /// Nothing may exist there; the file is removed when the server stops. Clients name it by `socketPath` of their
    /// transport.
    public var socketPath: String?
    /// The library that carries bytes (default ``/LinkspanNetwork/NetworkBackEnd/standard``).
    public var network = NetworkBackEnd.standard
    /// The time after a sign of life before a client is pinged (default 25 seconds, as in Socket.IO).
    public var pingInterval = Duration.seconds(25)
    /// The time limit for a client's answer to a ping (default 20 seconds, as in Socket.IO).
    public var pingTimeout = Duration.seconds(20)
    /// The path of an endpoint of Engine.IO that sends every message back, such as `/engine.io/` (default none).
    ///
    /// For clients of Engine.IO alone, and for the protocol's own suite of tests, which has no Socket.IO.
    package var echoPath: String?
    /// The carriers offered to Socket.IO clients.
    package var carriers = Carriers.all
    /// The time by which a client of a raw WebSocket has to send its credentials.
    ///
    /// Credentials have a limit of 64 KiB, over Socket.IO too, because the server holds them as long as the client
    /// is connected. Larger ones are refused: with close code 1009, and over Socket.IO with CONNECT_ERROR.
    public var introduction = Introduction.optional(within: .milliseconds(250))
    /// The most bytes of one message, and of the body of one POST (default 4 MiB).
    ///
    /// Told to Socket.IO clients as `maxPayload`. Credentials have a limit of their own, see ``introduction``.
    public var maximumMessageBytes = 4 << 20
    /// The most that clients may take.
    package var limits = Limits()

    /// The web pages that may use the server besides its own, by their origins, such as `https://app.example`.
    ///
    /// Default none: pages of `localhost` and of loopback addresses may use it, at any port; all others are refused
    /// with 403. Requests without an `Origin` field, which are those of apps, are not concerned. Files and
    /// sandboxed frames have the origin `null`.
    public var allowedOrigins: Set<String> = []
    /// The names under which the server answers besides `localhost`, without a port.
    ///
    /// Default none: requests with another name in their `Host` field are refused with 403, so that no page can
    /// reach the server under a name of its own (DNS rebinding). Numeric addresses are always allowed.
    public var allowedHosts: Set<String> = []

    /// The pages for browsers, by their paths, such as `/` (default none).
    ///
    /// A page whose path ends in `.css` or `.js` is sent as a style sheet or a script. The rules for origins and hosts
    /// hold for pages, too; a WebSocket may have the same path.
    public var pages: [String: Page] = [:]

    /// The defaults named at the properties, changed by `configure`.
    public init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }
}

extension DevServerConfiguration {
    /// A page for browsers.
    public struct Page: Sendable, Hashable {
        /// The document.
        public var html: String
        /// The page's `Content-Security-Policy`.
        ///
        /// By default it may load nothing from elsewhere and be shown in no frame.
        public var policy = "default-src 'self' 'unsafe-inline' data: ws: wss:; frame-ancestors 'none'"

        /// Makes a page of a whole HTML document.
        public init(html: String) { self.html = html }
    }

    /// The most that clients may take, in time and room.
    package struct Limits: Sendable, Hashable {
        /// The time a Socket.IO client may stay without a namespace (default 45 seconds, as in Socket.IO).
        package var connectTimeout = Duration.seconds(45)
        /// The time limit for the first whole request of a new connection.
        package var requestTimeout = Duration.seconds(10)
        /// The most bytes that may wait for one client; one that falls further behind is dropped (default 16 MiB).
        package var maximumWaitingBytes = 16 << 20
        /// The most TCP connections, and the most sessions of Socket.IO (default 2,000).
        ///
        /// TCP connections are also limited to 64 fewer than the files and sockets that the process may open. For a new
        /// connection or session beyond the limit, the server closes the connection or session that has been idle
        /// longest. Idle is a connection between two requests, and a connection or session that has joined neither a
        /// namespace nor the hub. When none is idle, the new one is refused.
        package var maximumConnections = 2_000
    }

    /// The carriers of a Socket.IO session.
    package struct Carriers: OptionSet, Sendable, Hashable {
        /// The bits of the set.
        package var rawValue: Int

        /// Makes a set of its bits.
        package init(rawValue: Int) { self.rawValue = rawValue }

        /// HTTP long polling.
        package static let polling = Self(rawValue: 1)
        /// A WebSocket.
        package static let webSocket = Self(rawValue: 2)
        /// Both, and the upgrade from the one to the other.
        package static let all: Self = [.polling, .webSocket]
    }

    /// The rule for the credentials of raw WebSocket clients.
    ///
    /// Clients without credentials send none, so that the server does not wait.
    public struct Introduction: Sendable, Hashable {
        let isRequired: Bool
        let limit: Duration

        /// A client without credentials in this time, or with another message first, connects without them.
        ///
        /// One whose credentials come later is closed with code 1013, so that it tries again.
        public static func optional(within limit: Duration) -> Self { Self(isRequired: false, limit: limit) }

        /// A client without credentials in this time, or with another message first, is closed with code 1008.
        public static func required(within limit: Duration) -> Self { Self(isRequired: true, limit: limit) }
    }
}

extension DevServerConfiguration {
    /// Host and port as clients name them, which at a Unix-domain socket nobody looks up.
    func authority(port: Int) -> String {
        guard self.socketPath == nil else { return "localhost" }
        return self.address.contains(":") ? "[\(self.address)]:\(port)" : "\(self.address):\(port)"
    }
}
