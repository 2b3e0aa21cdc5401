internal import LinkspanWebSocketProtocol

/// The request and the handshake of a channel, which are kept until its stream is open.
final class WebSocketOpening {
    /// The parts of its request that a channel needs for as long as it lives.
    struct Settings {
        let maxMessageBytes: Int
        let keepAlive: WebSocketKeepAlive?
        let highWaterMark: Int
        let closeDeadline: Duration
        let messageDeadline: Duration
        /// The reason for which a message that makes no progress ends the connection.
        var slowness: String {
            "a message came more slowly than the \(WebSocketRequest.messageProgress) bytes in \(self.messageDeadline) "
                + "that are accepted here"
        }

        init(_ request: WebSocketRequest) {
            self.maxMessageBytes = request.limits.maxMessageBytes
            self.keepAlive = request.keepAlive
            self.highWaterMark = request.highWaterMark
            self.closeDeadline = request.closeDeadline
            self.messageDeadline = request.messageDeadline
        }
    }

    let request: UpgradeRequest
    let handshake: ClientHandshake

    init(_ request: WebSocketRequest) throws(WebSocketProtocolError) {
        self.handshake = try ClientHandshake(
            nonce: (.random(in: .min ... .max), .random(in: .min ... .max)), subprotocols: request.subprotocols,
            compression: request.compression)
        var upgrade = request.upgrade
        upgrade.headers = self.handshake.headers + upgrade.headers
        // A stream that was full is to report that it is writable, so it has to have been above its low-water mark.
        upgrade.lowWaterMark = min(upgrade.lowWaterMark, request.highWaterMark)
        upgrade.highWaterMark = request.highWaterMark
        self.request = upgrade
    }
}
