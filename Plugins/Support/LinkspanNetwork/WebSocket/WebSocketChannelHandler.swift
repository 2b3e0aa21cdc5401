package import LinkspanWebSocketProtocol

/// The receiver of a WebSocket channel's events.
///
/// All calls come on the channel's loop, one at a time and in order, and never from inside a call of the channel.
package protocol WebSocketChannelHandler: AnyObject {
    /// The handshake is done; messages may be sent.
    ///
    /// - Parameters:
    ///   - head: the server's response to the upgrade.
    ///   - subprotocol: the server's choice of the offered ones, or nil.
    func opened(_ head: ResponseHead, subprotocol: String?)

    /// Messages have arrived: all of one read, of which each is decoded when it is asked for.
    ///
    /// - Parameter next: the next message; nil when there is none. Has to be called until then.
    func received(_ next: () -> WebSocketMessage?)

    /// A ping or pong has arrived, between messages in the order of the wire; by default nothing is done.
    ///
    /// Only with ``WebSocketTerms/reportsControl``, and not for the answer to the keep-alive.
    func received(_ control: Opcode, payload: ArraySlice<UInt8>)

    /// The server has answered a ping; by default nothing is done.
    ///
    /// - Parameter roundTrip: the time that took.
    func answeredPing(after roundTrip: Duration)

    /// More may be sent after `acceptedAndFull`.
    func writable()

    /// The channel has ended; called exactly once, last, whatever happened.
    func closed(_ end: WebSocketEnd)
}

extension WebSocketChannelHandler {
    /// Does nothing.
    package func received(_ control: Opcode, payload: ArraySlice<UInt8>) {}

    /// Does nothing.
    package func answeredPing(after roundTrip: Duration) {}
}
