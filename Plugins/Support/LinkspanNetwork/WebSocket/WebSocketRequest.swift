package import LinkspanWebSocketProtocol

/// The endpoint and the settings of a WebSocket channel.
package struct WebSocketRequest: Sendable {
    /// The upgrade request without the headers of the WebSocket handshake, which the channel adds.
    package var upgrade: UpgradeRequest
    /// The sub-protocols to offer, the preferred first.
    package var subprotocols: [String]
    /// Limits for the server's messages.
    package var limits: WebSocketLimits
    /// The compression to offer; nil for none.
    package var compression: WebSocketCompression?
    /// The rule for pinging a silent server; nil to leave that to a protocol above.
    package var keepAlive: WebSocketKeepAlive?
    /// The number of unsent bytes above which the channel reports that it is full.
    package var highWaterMark: Int
    /// The time limit for closing, from our Close frame to the end of the stream.
    package var closeDeadline: Duration

    /// The time a message that has begun may make less progress than ``messageProgress``.
    package var messageDeadline = Duration.seconds(30)

    /// The progress that a message has to make within ``messageDeadline``, in bytes.
    ///
    /// Not the whole message: over a slow line a large one may take minutes.
    package static let messageProgress = 64 * 1024

    /// Makes a request.
    package init(
        upgrade: UpgradeRequest, subprotocols: [String] = [], limits: WebSocketLimits = .init(),
        compression: WebSocketCompression? = nil, keepAlive: WebSocketKeepAlive? = nil, highWaterMark: Int = 1 << 20,
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
}
