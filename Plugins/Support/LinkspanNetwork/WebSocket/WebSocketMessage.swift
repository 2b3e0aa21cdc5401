/// A whole message of a WebSocket, or of Engine.IO, whatever carries it.
public enum WebSocketMessage: Sendable, Hashable {
    /// Text: valid UTF-8.
    case text(ArraySlice<UInt8>)
    /// Binary.
    case binary(ArraySlice<UInt8>)
}
