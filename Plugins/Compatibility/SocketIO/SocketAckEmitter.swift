public import Foundation

/// Acknowledges an event, as its handler gets it.
public final class SocketAckEmitter: NSObject {
    private let socket: SocketIOClient
    private let number: Int

    /// Makes one for the acknowledgement of a number, or for none with -1.
    public init(socket: SocketIOClient, ackNum: Int) { (self.socket, self.number) = (socket, ackNum) }

    /// True when the server has asked for an acknowledgement of the event.
    public var expected: Bool { self.number != -1 }
    /// The same: `Data` is found wherever it is.
    public var rawEmitView: SocketRawAckView { self }

    /// Acknowledges the event; what cannot be sent makes a client event with `[number, items, error]`.
    public func with(_ items: SocketData...) { self.with(items as [Any]) }

    /// Acknowledges the event with a list of arguments.
    public func with(_ items: [Any]) { if self.expected { self.socket.emitAck(self.number, with: items) } }
}

/// Acknowledges an event.
public typealias SocketRawAckView = SocketAckEmitter

/// An emit that asks for an acknowledgement, and is sent by ``timingOut(after:callback:)``.
public final class OnAckCallback: NSObject {
    private let send: (Double, @escaping AckCallback) -> Void

    init(_ send: @escaping (Double, @escaping AckCallback) -> Void) { self.send = send }

    /// Sends the event and calls `callback` with the arguments of the acknowledgement, or with
    /// ``SocketAckStatus/noAck`` when there is none in time.
    ///
    /// With 0 seconds it waits as long as it takes, and is not called when the acknowledgement is lost.
    public func timingOut(after seconds: Double, callback: @escaping AckCallback) { self.send(seconds, callback) }
}
