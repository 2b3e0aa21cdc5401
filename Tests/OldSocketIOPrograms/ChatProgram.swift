// Written in the style of the old documents.
// swift-format-ignore-file

import Foundation
import SocketIO

/// The chat of Socket.IO's tutorial, as a screen has it: handlers in one place, a model, and a delegate for the view.
public protocol ChatScreen: AnyObject {
    func show(_ line: String)
}

public class ChatViewController: NSObject {
    public weak var screen: ChatScreen?
    private let manager: SocketManager
    private var socket: SocketIOClient!
    private let name: String

    public init(url: URL, name: String, config: SocketIOClientConfiguration) {
        self.name = name
        manager = SocketManager(socketURL: url, config: config)
        super.init()
        socket = manager.defaultSocket
    }

    public func viewDidLoad() {
        addHandlers()
        socket.connect(timeoutAfter: 20) { [weak self] in
            self?.screen?.show("no connection")
        }
    }

    public func viewWillDisappear() {
        socket.off("new message")
        socket.disconnect()
    }

    public func send(_ text: String) {
        socket.emit("new message", text)
    }

    public func userTypes() {
        socket.emit("typing")
    }

    private func addHandlers() {
        socket.on(clientEvent: .connect) { [weak self] _, _ in
            guard let self = self else { return }
            self.socket.emit("add user", self.name)
        }
        socket.on("login") { [weak self] data, _ in
            guard let info = data.first as? [String: Any], let count = info["numUsers"] as? Int else { return }
            self?.screen?.show("\(count) in the room")
        }
        socket.on("user joined") { [weak self] data, _ in
            guard let info = data.first as? NSDictionary, let name = info["username"] as? String else { return }
            self?.screen?.show("\(name) joined")
        }
        socket.on("user left") { [weak self] data, _ in
            guard let info = data.first as? [String: Any], let name = info["username"] as? String else { return }
            self?.screen?.show("\(name) left")
        }
        socket.on("new message") { [weak self] data, _ in
            guard let info = data.first as? [String: String] ?? (data.first as? [String: Any])?.mapValues({ "\($0)" })
            else { return }
            self?.screen?.show("\(info["username"] ?? "?"): \(info["message"] ?? "")")
        }
        socket.on("typing") { [weak self] data, _ in
            guard let info = data.first as? [String: Any] else { return }
            self?.screen?.show("\(info["username"] ?? "?") is typing")
        }
        socket.on(clientEvent: .disconnect) { [weak self] data, _ in
            self?.screen?.show("left: \(data[0])")
        }
    }
}
