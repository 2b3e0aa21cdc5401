// Written in the style of the old documents.
// swift-format-ignore-file

import Foundation
import SocketIO

#if canImport(Combine)
import Combine
#endif

/// A wrapper as apps have it over Combine; where there is none, a subject of its own does the same.
public final class SocketStream<Value> {
    private let socket: SocketIOClient
    private let event: String
    private var id: UUID?

    #if canImport(Combine)
    public let subject = PassthroughSubject<Value, Never>()
    #else
    private var sinks = [(Value) -> Void]()
    #endif

    public init(_ socket: SocketIOClient, event: String, decode: @escaping ([Any]) -> Value?) {
        self.socket = socket
        self.event = event
        id = socket.on(event) { [weak self] data, _ in
            guard let value = decode(data) else { return }
            #if canImport(Combine)
            self?.subject.send(value)
            #else
            self?.sinks.forEach { $0(value) }
            #endif
        }
    }

    deinit {
        if let id = id { socket.off(id: id) }
    }

    #if !canImport(Combine)
    public func sink(_ receive: @escaping (Value) -> Void) {
        sinks.append(receive)
    }
    #endif
}

/// Prices, decoded and passed on one by one.
public final class PriceFeed {
    public let manager: SocketManager
    public let stream: SocketStream<Double>
    #if canImport(Combine)
    private var cancellables = Set<AnyCancellable>()
    #endif

    public init(url: URL, config: SocketIOClientConfiguration, receive: @escaping (Double) -> Void) {
        manager = SocketManager(socketURL: url, config: config)
        let socket = manager.defaultSocket
        stream = SocketStream(socket, event: "echo") { ($0.first as? [String: Any])?["price"] as? Double }
        #if canImport(Combine)
        stream.subject.sink(receiveValue: receive).store(in: &cancellables)
        #else
        stream.sink(receive)
        #endif
        socket.connect()
    }

    public func ask(for price: Double) {
        manager.defaultSocket.emit("echo", ["price": price, "currency": "EUR"] as [String: Any])
    }
}
