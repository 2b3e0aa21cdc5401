public import Foundation

/// What a program may ask of a socket, so that a test can put something else in its place.
public protocol WebSocketClient: AnyObject {
    /// Opens a link; does nothing while there is one.
    func connect()
    /// Closes the link with a code of RFC 6455 section 7.4.
    func disconnect(closeCode: UInt16)
    /// Sends a text message; `completion` is called when the transport has taken it.
    func write(string: String, completion: (() -> Void)?)
    /// Sends UTF-8 as a text message.
    func write(stringData: Data, completion: (() -> Void)?)
    /// Sends a binary message.
    func write(data: Data, completion: (() -> Void)?)
    /// Sends a ping of at most 125 bytes.
    func write(ping: Data, completion: (() -> Void)?)
    /// Sends a pong of at most 125 bytes.
    func write(pong: Data, completion: (() -> Void)?)
}

extension WebSocketClient {
    /// Sends a text message.
    public func write(string: String) { self.write(string: string, completion: nil) }
    /// Sends a binary message.
    public func write(data: Data) { self.write(data: data, completion: nil) }
    /// Sends a ping.
    public func write(ping: Data) { self.write(ping: ping, completion: nil) }
    /// Sends a pong.
    public func write(pong: Data) { self.write(pong: pong, completion: nil) }
    /// Closes the link with code 1000.
    public func disconnect() { self.disconnect(closeCode: CloseCode.normal.rawValue) }
}

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

/// Hears what happens on a socket, on its ``WebSocket/callbackQueue``.
///
/// Implement one of the two methods: Starscream had the first up to 4.0.4, as its README says, and the other since.
public protocol WebSocketDelegate: AnyObject {
    /// Something has happened.
    func didReceive(event: WebSocketEvent, client: WebSocket)
    /// Something has happened.
    func didReceive(event: WebSocketEvent, client: any WebSocketClient)
}

extension WebSocketDelegate {
    /// Passes the event on to the other method.
    public func didReceive(event: WebSocketEvent, client: WebSocket) {
        self.didReceive(event: event, client: client as any WebSocketClient)
    }
    /// Does nothing.
    public func didReceive(event: WebSocketEvent, client: any WebSocketClient) {}
}

/// Takes events; every socket does, so that a test can make it believe that something has happened.
public protocol EngineDelegate: AnyObject {
    /// Something has happened.
    func didReceive(event: WebSocketEvent)
}
