// Written in the style of the old documents.
// swift-format-ignore-file

import Foundation
import SocketIO

/// Two namespaces of one server, each with a payload of its own.
public final class NamespaceProgram {
    public let manager: SocketManager
    public let news: SocketIOClient
    public let admin: SocketIOClient

    public init(url: URL, config: SocketIOClientConfiguration, show: @escaping (String) -> Void) {
        manager = SocketManager(socketURL: url, config: config)
        news = manager.socket(forNamespace: "/news")
        admin = manager.socket(forNamespace: "/admin")
        for socket in [news, admin] {
            socket.on(clientEvent: .connect) { data, _ in
                guard let nsp = data[0] as? String, let payload = data[1] as? [String: Any] else { return }
                show("connected to \(nsp)\(payload["sid"] as? String == socket.sid ? "" : " with another sid")")
                socket.emitWithAck("whoami").timingOut(after: 30) { data in
                    let user = (data[0] as? [String: Any])?["user"] as? String ?? "nobody"
                    show("\(nsp) knows \(user)")
                }
            }
        }
        news.connect(withPayload: ["user": "reader"])
        admin.connect(withPayload: ["user": "root", "level": 3])
    }
}
