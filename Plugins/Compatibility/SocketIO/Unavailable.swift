public import Foundation
public import Starscream

// What has no counterpart is declared all the same, so that the compiler names the way out.

/// The engine is a transport of Linkspan's.
@available(*, unavailable, message: "use the option linkspan") public typealias SocketEngineSpec = NotOffered
/// The engine is a transport of Linkspan's.
@available(*, unavailable, message: "use the option linkspan") public typealias SocketEngine = NotOffered
/// The engine is a transport of Linkspan's.
@available(*, unavailable, message: "use client events") public typealias SocketEngineClient = NotOffered
/// The engine is a transport of Linkspan's.
@available(*, unavailable, message: "use forcePolling") public typealias SocketEnginePollable = NotOffered
/// The engine is a transport of Linkspan's.
@available(*, unavailable, message: "use forceWebsockets") public typealias SocketEngineWebsocket = NotOffered
/// Packets are Linkspan's.
@available(*, unavailable, message: "use the client event ping") public typealias SocketEnginePacketType = NotOffered
/// Packets are Linkspan's.
@available(*, unavailable, message: "override handleEvent and handleAck") public typealias SocketPacket = NotOffered
/// Packets are Linkspan's.
@available(*, unavailable, message: "set a codec by the option linkspan") public typealias SocketParsable = NotOffered
/// Packets are Linkspan's.
@available(*, unavailable, message: "use the option linkspan") public typealias SocketDataBufferable = NotOffered
/// Packets are Linkspan's.
@available(*, unavailable, message: "use the client event error") public typealias SocketParsableError = NotOffered
/// Requests are Linkspan's.
@available(*, unavailable, message: "use the option linkspan") public typealias Post = NotOffered

@available(*, unavailable, message: "use client events, the option linkspan, or connection of a socket")
extension SocketManager {
    /// The engine is a transport of Linkspan's.
    public var engine: NotOffered? { nil }
    /// Attachments come within their events.
    public var waitingPackets: [NotOffered] { [] }
    /// The client event is ``SocketClientEvent/disconnect``.
    public func engineDidClose(reason: String) {}
    /// The client event is ``SocketClientEvent/error``.
    public func engineDidError(reason: String) {}
    /// The client event is ``SocketClientEvent/connect``.
    public func engineDidOpen(reason: String) {}
    /// The client event is ``SocketClientEvent/ping``.
    public func engineDidReceivePing() {}
    /// The client event is ``SocketClientEvent/pong``.
    public func engineDidReceivePong() {}
    /// The client event is ``SocketClientEvent/ping``.
    public func engineDidSendPing() {}
    /// The client event is ``SocketClientEvent/pong``.
    public func engineDidSendPong() {}
    /// The client event is ``SocketClientEvent/websocketUpgrade``.
    public func engineDidWebsocketUpgrade(headers: [String: String]) {}
    /// Override ``SocketIOClient/handleEvent(_:data:isInternalMessage:withAck:)``.
    public func parseEngineMessage(_ msg: String) {}
    /// Override ``SocketIOClient/handleEvent(_:data:isInternalMessage:withAck:)``.
    public func parseEngineBinaryData(_ data: Data) {}
    /// Override ``SocketIOClient/handleEvent(_:data:isInternalMessage:withAck:)``.
    public func parseSocketMessage(_ message: String) -> NotOffered? { nil }
    /// Override ``SocketIOClient/handleEvent(_:data:isInternalMessage:withAck:)``.
    public func parseBinaryData(_ data: Data) -> NotOffered? { nil }
}

extension SocketIOClient {
    /// Override ``handleEvent(_:data:isInternalMessage:withAck:)`` or ``handleAck(_:data:)``.
    @available(*, unavailable, message: "override handleEvent") public func handlePacket(_ packet: NotOffered) {}
    /// Call ``SocketManager/reconnect()``.
    @available(*, unavailable, message: "call reconnect of the manager") public func reconnect() {}
}
