public import LinkspanWebSocketProtocol

/// The endpoint and the settings of a WebSocket channel.
public struct WebSocketRequest: Sendable {
    /// The upgrade request without the headers of the WebSocket handshake, which the channel adds.
    public var upgrade: UpgradeRequest
    /// The sub-protocols to offer, the preferred first.
    public var subprotocols: [String]
    /// Limits for the server's messages.
    public var limits: WebSocketLimits
    /// The compression to offer; nil for none.
    public var compression: WebSocketCompression?
    /// The rule for pinging a silent server; nil to leave that to a protocol above.
    public var keepAlive: KeepAlive?
    /// The number of unsent bytes above which the channel reports that it is full.
    public var highWaterMark: Int
    /// The time limit for closing, from our Close frame to the end of the stream.
    public var closeDeadline: Duration

    /// The time a message that has begun may make less progress than ``messageProgress``.
    public var messageDeadline = Duration.seconds(30)

    /// The progress that a message has to make within ``messageDeadline``, in bytes.
    ///
    /// Not the whole message: over a slow line a large one may take minutes.
    public static let messageProgress = 64 * 1024

    /// Makes a request.
    public init(
        upgrade: UpgradeRequest, subprotocols: [String] = [], limits: WebSocketLimits = .init(),
        compression: WebSocketCompression? = nil, keepAlive: KeepAlive? = nil, highWaterMark: Int = 1 << 20,
        closeDeadline: Duration = .seconds(5)
    ) {
        self.upgrade = upgrade
        self.subprotocols = subprotocols
        self.limits = limits
        self.compression = compression
        self.keepAlive = keepAlive
        self.highWaterMark = highWaterMark
        self.closeDeadline = closeDeadline
    }

    /// The interval of pings and the time limit for their answers.
    public struct KeepAlive: Sendable, Hashable {
        /// The interval between pings.
        ///
        /// Default 15 s.
        public var interval: Duration
        /// The time limit for the server's answer to a ping.
        ///
        /// Default 10 s.
        public var timeout: Duration

        /// Makes a keep-alive rule.
        ///
        /// A server that has vanished is noticed after at most `interval` + `timeout`. As long as bytes that were written
        /// before the ping leave, as over a slow line, another `timeout` begins.
        public init(interval: Duration = .seconds(15), timeout: Duration = .seconds(10)) {
            self.interval = interval
            self.timeout = timeout
        }
    }
}
