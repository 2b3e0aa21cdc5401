public import Foundation

/// Something that has happened on a socket.
public enum WebSocketEvent: Sendable {
    /// The link is open; with the header fields of the server's response.
    case connected([String: String])
    /// The server closed the link, with the reason and the code of its Close frame; 1005 when it had none.
    case disconnected(String, UInt16)
    /// A text message.
    case text(String)
    /// A binary message.
    case binary(Data)
    /// A pong, other than those that answer the keep-alive.
    case pong(Data?)
    /// A ping, which is answered unless ``WebSocket/respondToPingWithPong`` is false.
    case ping(Data?)
    /// The link could not be opened, or failed.
    case error((any Error)?)
    /// Never sent; the service `network` of `LinkspanServices` follows the network path.
    case viabilityChanged(Bool)
    /// Never sent; see ``viabilityChanged(_:)``.
    case reconnectSuggested(Bool)
    /// The app closed the link, or gave an attempt up.
    case cancelled
    /// The link ended without a Close frame.
    case peerClosed
}
