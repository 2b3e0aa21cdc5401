public import Foundation

/// The callback of an acknowledgement: its arguments, or ``SocketAckStatus/noAck`` alone.
public typealias AckCallback = ([Any]) -> Void
/// The callback of an event: its arguments, and the way to acknowledge it.
public typealias NormalCallback = ([Any], SocketAckEmitter) -> Void

/// A value that can be sent.
///
/// A type of one's own says by ``socketRepresentation()`` which of the types below it becomes.
public protocol SocketData {
    /// The value that is sent.
    func socketRepresentation() throws -> SocketData
}

extension SocketData {
    /// The value itself.
    public func socketRepresentation() -> SocketData { self }
}

extension Array: SocketData {}
extension Bool: SocketData {}
extension Dictionary: SocketData {}
extension Double: SocketData {}
extension Int: SocketData {}
extension NSArray: SocketData {}
extension Data: SocketData {}
extension NSData: SocketData {}
extension NSDictionary: SocketData {}
extension NSString: SocketData {}
extension NSNull: SocketData {}
extension String: SocketData {}

/// The outcome of an emit that asked for an acknowledgement and got none.
public enum SocketAckStatus: String {
    /// There was none in time.
    case noAck = "NO ACK"

    /// Whether a first argument is the status.
    public static func == (lhs: String, rhs: SocketAckStatus) -> Bool { lhs == rhs.rawValue }
    /// Whether a first argument is the status.
    public static func == (lhs: SocketAckStatus, rhs: String) -> Bool { lhs.rawValue == rhs }
}

/// The status of a socket or a manager.
public enum SocketIOStatus: Int, CustomStringConvertible {
    /// Never connected; down for good; on its way, for the first time or again; up.
    case notConnected, disconnected, connecting, connected

    /// Whether it is up or on its way.
    public var active: Bool { self == .connected || self == .connecting }
    /// The name of the case.
    public var description: String { ["notConnected", "disconnected", "connecting", "connected"][self.rawValue] }
}

/// What a socket tells of itself, by handlers of these names.
public enum SocketClientEvent: String {
    /// It is up; also after each reconnect. The namespace, and `["sid": …]`.
    case connect
    /// It is down and stays so. The reason.
    case disconnect
    /// Something failed: a sentence, the server's refusal, or `[event, items, error]` of an emit.
    case error
    /// The server has sent a ping, or the client one to a server of version 2. No data.
    case ping
    /// The ping was answered. No data.
    case pong
    /// The link is lost, and attempts follow. The reason.
    case reconnect
    /// An attempt begins. The number of attempts left, negative without a limit.
    case reconnectAttempt
    /// The status has changed. The ``SocketIOStatus`` and its raw value.
    case statusChange
    /// A WebSocket carries the session. An empty dictionary in place of the response's headers.
    case websocketUpgrade
}

/// An event of any name, for ``SocketIOClient/onAny(_:)``.
public final class SocketAnyEvent: NSObject {
    /// The name.
    public let event: String
    /// The arguments.
    public let items: [Any]?

    init(event: String, items: [Any]?) { (self.event, self.items) = (event, items) }

    /// The name and the arguments.
    public override var description: String { "SocketAnyEvent: Event: \(self.event) items: \(self.items as Any)" }
}

/// A handler of an event.
public struct SocketEventHandler {
    /// The name of the event.
    public let event: String
    /// Tells it from other handlers, for ``SocketIOClient/off(id:)``.
    public let id: UUID
    /// The function that it calls.
    public let callback: NormalCallback

    /// Calls it, with the number of the acknowledgement or -1.
    public func executeCallback(with items: [Any], withAck ack: Int, withSocket socket: SocketIOClient) {
        self.callback(items, SocketAckEmitter(socket: socket, ackNum: ack))
    }
}
