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
