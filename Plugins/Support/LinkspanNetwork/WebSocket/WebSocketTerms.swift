package import LinkspanWebSocketProtocol

/// The terms of WebSockets for as long as they live; one object serves all of a transport.
package final class WebSocketTerms: Sendable {
    /// Limits for the server's messages.
    package let limits: WebSocketLimits
    /// The number of unsent bytes above which the channel reports that it is full.
    package let highWaterMark: Int
    /// The rule for pinging a silent server; nil to leave that to a protocol above.
    package let keepAlive: WebSocketKeepAlive?
    /// Whether the server's pings are answered.
    package let answersPings: Bool
    /// Whether pings and pongs are handed over, other than answers to the keep-alive.
    package let reportsControl: Bool
    /// The time a message that has begun may make less progress than ``messageProgress``.
    package let messageDeadline: Duration

    /// The progress that a message has to make within ``messageDeadline``, in bytes.
    ///
    /// Not the whole message: over a slow line a large one may take minutes.
    package static let messageProgress = 64 * 1024

    /// Makes terms; see the properties.
    package init(
        limits: WebSocketLimits = .init(), highWaterMark: Int = 1 << 20, keepAlive: WebSocketKeepAlive? = nil,
        answersPings: Bool = true, reportsControl: Bool = false, messageDeadline: Duration = .seconds(30)
    ) {
        (self.limits, self.highWaterMark, self.keepAlive) = (limits, highWaterMark, keepAlive)
        (self.answersPings, self.reportsControl) = (answersPings, reportsControl)
        self.messageDeadline = messageDeadline
    }

    /// The reason for which a message that makes no progress ends the connection.
    var slowness: String {
        "a message came more slowly than the \(Self.messageProgress) bytes in \(self.messageDeadline) "
            + "that are accepted here"
    }
}
