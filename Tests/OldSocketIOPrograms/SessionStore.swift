// Written in the style of the old documents.
// swift-format-ignore-file

import Foundation
import SocketIO

/// A logger of an app's own, as version 16 has it.
public final class LineLogger: SocketLogger {
    public var log = true
    public var lines = [String]()

    public init() {}

    public func log(_ message: @autoclosure () -> String, type: String) {
        lines.append("\(type) \(message())")
    }

    public func error(_ message: @autoclosure () -> String, type: String) {
        lines.append("ERROR \(type) \(message())")
    }
}

/// The state of a session as a store of SwiftUI has it, without reconnects of its own: the user presses a button.
public final class SessionStore {
    public private(set) var states = [String]() { didSet { changed(states) } }
    public let manager: SocketManager
    public let socket: SocketIOClient
    private let changed: ([String]) -> Void

    public init(url: URL, config: SocketIOClientConfiguration, changed: @escaping ([String]) -> Void) {
        self.changed = changed
        manager = SocketManager(socketURL: url, config: config)
        manager.reconnects = false
        socket = manager.defaultSocket
        socket.on(clientEvent: .statusChange) { [weak self] data, _ in
            guard let status = data[0] as? SocketIOStatus else { return }
            self?.states.append(status.description)
        }
        socket.on(clientEvent: .disconnect) { [weak self] data, _ in self?.states.append("disconnect") }
        socket.on(clientEvent: .error) { [weak self] data, _ in
            if data.count == 3 { self?.states.append("error of \(data[0])") }
        }
        socket.on(clientEvent: .reconnect) { [weak self] data, _ in self?.states.append("reconnect") }
        socket.on(clientEvent: .reconnectAttempt) { [weak self] data, _ in self?.states.append("attempt \(data[0])") }
    }

    public func start() { socket.connect() }
    public func stop() { socket.disconnect() }

    /// Says goodbye, and is gone.
    public func leave(with note: Int) {
        socket.emit("note", note)
        socket.disconnect()
    }

    /// Sends what belongs to this user, and logs in as another at once.
    public func switchUser(note: Int) {
        socket.emit("note", note)
        socket.disconnect()
        socket.connect()
    }
}
