/// Hears what happens on a WebSocket channel.
///
/// All calls come on the loop's thread, one at a time and in order.
public protocol WebSocketChannelHandler: AnyObject, Sendable {
    /// The handshake is done; messages may be sent.
    ///
    /// - Parameter subprotocol: what the server chose of the offered ones, or nil.
    func opened(subprotocol: String?)

    /// Messages have arrived: all of one read together.
    func received(_ messages: [WebSocketMessage])

    /// There is room again after ``WebSocketChannel/SendResult/full``.
    func drained()

    /// The channel has ended; called exactly once, last, whatever happened.
    func closed(_ end: WebSocketEnd)
}

/// A whole message.
///
/// The bytes may share memory with others of the same read.
public enum WebSocketMessage: Sendable, Hashable {
    /// Text: valid UTF-8.
    case text(ArraySlice<UInt8>)
    /// Binary.
    case binary(ArraySlice<UInt8>)
}
