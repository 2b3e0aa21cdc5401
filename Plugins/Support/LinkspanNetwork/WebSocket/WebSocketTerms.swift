package import LinkspanWebSocketProtocol

/// The terms of a WebSocket for as long as it lives.
package struct WebSocketTerms: Sendable {
    /// Limits for the server's messages.
    package var limits = WebSocketLimits()
    /// The number of unsent bytes above which the channel reports that it is full.
    package var highWaterMark = 1 << 20
    /// The rule for pinging a silent server; nil to leave that to a protocol above.
    package var keepAlive: WebSocketKeepAlive?
    /// Whether the server's pings are answered.
    package var answersPings = true
    /// Whether pings and pongs are handed over, other than answers to the keep-alive.
    package var reportsControl = false
    /// Whether pings are sent four times as rarely.
    package var savesData = false
    /// The time a message that has begun may make less progress than ``messageProgress``.
    package var messageDeadline = Duration.seconds(30)

    /// The progress that a message has to make within ``messageDeadline``, in bytes.
    ///
    /// Not the whole message: over a slow line a large one may take minutes.
    package static let messageProgress = 64 * 1024

    /// The defaults, changed by `configure`.
    package init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }

    /// The reason for which a message that makes no progress ends the connection.
    var slowness: String {
        "a message came more slowly than the \(Self.messageProgress) bytes in \(self.messageDeadline) "
            + "that are accepted here"
    }
}
