package import Linkspan

/// A whole packet of Socket.IO v5 (socket.io-protocol §"Exchange protocol"), its attachments included.
///
/// Binary and plain packets differ only in `payload.attachments`. The namespace is a slice of the frame without the
/// comma, and empty for `/`, so that the commonest packet costs no allocation for it.
package enum SocketIOPacket: Sendable {
    /// The answer to CONNECT: one object, or no argument from servers of Socket.IO v2.
    case connect(namespace: ArraySlice<UInt8>, payload: Payload)
    /// The server has put us out of the namespace.
    case disconnect(namespace: ArraySlice<UInt8>)
    /// An event; `replyID` is set when the server wants an acknowledgement.
    case event(namespace: ArraySlice<UInt8>, message: InboundMessage)
    /// An acknowledgement. One without an id answers nothing.
    case ack(namespace: ArraySlice<UInt8>, id: UInt64?, payload: Payload)
    /// CONNECT is refused: one object or string, or nothing.
    case connectError(namespace: ArraySlice<UInt8>, payload: Payload)
}

/// The names of events that belong to the protocol's implementations (socket.io-protocol, "Event").
enum ReservedEvent {
    /// Whether a name is reserved.
    ///
    /// Decided by the length first, because that is all that most names need.
    static func contains(_ name: String) -> Bool {
        switch name.utf8.count {
        case 7: name == "connect"
        case 10: name == "disconnect"
        case 11: name == "newListener"
        case 13: name == "connect_error" || name == "disconnecting"
        case 14: name == "removeListener"
        default: false
        }
    }
}
