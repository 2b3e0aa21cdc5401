/// The end of a WebSocket connection.
package struct CloseEvent: Sendable, Hashable {
    /// The code the peer gave, ``CloseCode/noStatus`` if it gave none, ``CloseCode/abnormal`` if the stream just ended.
    ///
    /// If the peer broke the protocol this is the code that was sent to it.
    package var code: CloseCode

    /// The peer's reason; empty if it gave none.
    package var reason: String

    /// The peer's violation of the protocol, if that ended the connection; nil when both ends sent a Close frame.
    package var violation: WebSocketProtocolError?
}
