package import LinkspanWebSocketProtocol

/// A whole message of a WebSocket, or of Engine.IO, whatever carries it.
public enum WebSocketMessage: Sendable, Hashable {
    /// Text: valid UTF-8.
    case text(ArraySlice<UInt8>)
    /// Binary.
    case binary(ArraySlice<UInt8>)
}

extension WebSocketMessage {
    /// The type of its frame.
    package var opcode: Opcode { if case .text = self { .text } else { .binary } }

    /// Its payload.
    package var bytes: ArraySlice<UInt8> {
        switch self {
        case .text(let bytes), .binary(let bytes): bytes
        }
    }
}
