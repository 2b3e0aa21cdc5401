/// The end of a WebSocket connection.
public struct CloseEvent: Sendable, Hashable {
    /// The code the peer gave, ``CloseCode/noStatus`` if it gave none, ``CloseCode/abnormal`` if the stream just ended.
    ///
    /// If the peer broke the protocol this is the code that was sent to it.
    public var code: CloseCode

    /// The peer's reason; empty if it gave none.
    public var reason: String

    /// Whether both ends sent a Close frame.
    public var wasClean: Bool

    /// The peer's violation of the protocol, if that ended the connection.
    public var violation: WebSocketProtocolError?

    /// Makes the description of an ending.
    public init(code: CloseCode, reason: String, wasClean: Bool, violation: WebSocketProtocolError? = nil) {
        self.code = code
        self.reason = reason
        self.wasClean = wasClean
        self.violation = violation
    }
}
