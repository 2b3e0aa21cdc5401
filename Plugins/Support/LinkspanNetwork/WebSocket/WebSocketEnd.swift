public import LinkspanWebSocketProtocol

/// The end of a channel and its reason.
public enum WebSocketEnd: Sendable, Hashable {
    /// The stream below could not be opened, or broke without a Close frame.
    case stream(ByteStreamError)
    /// The server's answer to the handshake broke a rule.
    case handshake(WebSocketProtocolError)
    /// The closing handshake took place, or the peer broke the protocol (see ``/LinkspanWebSocketProtocol/CloseEvent/violation``).
    case closed(CloseEvent)
    /// The server did not answer a ping in time.
    case silent
    /// This side ended it without ceremony.
    case aborted
}
