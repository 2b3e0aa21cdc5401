public import Linkspan
internal import LinkspanWebSocketProtocol

/// The code and reason of a WebSocket's Close frame (RFC 6455 section 7.4).
public struct WebSocketClose: Error, Sendable, Hashable {
    /// The code; 1005 when the server gave none.
    public let code: UInt16
    /// The reason, as the server wrote it; empty when it gave none.
    public let reason: String

    /// Makes a code and a reason to close with, of which the first 123 bytes are sent.
    ///
    /// - Precondition: The code may be sent: 1000 to 1003, 1007 to 1014, or 3000 to 4999.
    public init(code: UInt16 = 1000, reason: String = "") {
        precondition(CloseCode(rawValue: code).canBeSent, "the close code \(code) must not be sent")
        (self.code, self.reason) = (code, reason)
    }

    init(_ event: CloseEvent) { (self.code, self.reason) = (event.code.rawValue, event.reason) }
}

extension WebSocketClose: CustomStringConvertible {
    /// The code alone: the reason may repeat a credential.
    public var description: String { "code \(self.code)" }
}

extension LinkspanError {
    /// The code and reason with which the server closed its WebSocket, if that caused the error; otherwise nil.
    public var webSocketClose: WebSocketClose? {
        self.cause as? WebSocketClose ?? (self.cause as? LinkspanError)?.webSocketClose
    }
}
