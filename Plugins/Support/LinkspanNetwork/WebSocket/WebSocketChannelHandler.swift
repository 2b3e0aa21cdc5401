/// Hears what happens on a WebSocket channel.
///
/// All calls come on the channel's loop, one at a time and in order, and never from inside a call of the channel.
public protocol WebSocketChannelHandler: AnyObject {
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
public enum WebSocketMessage: Sendable, Hashable {
    /// Text: valid UTF-8.
    case text(ArraySlice<UInt8>)
    /// Binary.
    case binary(ArraySlice<UInt8>)

    /// The message in memory of about its own size, for what may keep it for longer than a turn of the loop.
    ///
    /// A slice of a read keeps the whole read alive: a thousand small messages that are held would hold 64 MiB. So a
    /// message that is less than half of the read that it came in is copied, which costs less than looking at it does.
    ///
    /// - Parameter readLength: the length of the read.
    /// - Returns: the same message.
    public func detached(fromReadOf readLength: Int) -> Self {
        switch self {
        case .text(let bytes): Self.isSmall(bytes, in: readLength) ? .text(Array(bytes)[...]) : self
        case .binary(let bytes): Self.isSmall(bytes, in: readLength) ? .binary(Array(bytes)[...]) : self
        }
    }

    private static func isSmall(_ bytes: ArraySlice<UInt8>, in readLength: Int) -> Bool {
        readLength > 512 && bytes.count < readLength / 2
    }
}
