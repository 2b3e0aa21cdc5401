// Written in the style of the old documents.
// swift-format-ignore-file

import Foundation
import SocketIO

/// A session that shows its token by `connectParams`, and connects again with a fresh one when the server refuses it.
public final class TokenSession {
    public let manager: SocketManager
    private let socket: SocketIOClient
    private let config: SocketIOClientConfiguration
    private var refreshes = 0

    public init(url: URL, config: SocketIOClientConfiguration, show: @escaping (String) -> Void) {
        var withToken = config
        withToken.insert(.connectParams(["token": "stale"]))
        self.config = config
        manager = SocketManager(socketURL: url, config: withToken)
        socket = manager.socket(forNamespace: "/private")

        socket.on(clientEvent: .error) { [weak self] data, _ in
            guard let refusal = data.first as? [String: Any] else { return }
            show("refused: \(refusal["message"] ?? "?")")
            self?.refresh()
        }
        socket.on("welcome") { data, _ in
            show("welcome to \(data[0])")
        }
        socket.connect()
    }

    private func refresh() {
        refreshes += 1
        guard refreshes == 1 else { return }
        var fresh = config
        fresh.insert(.connectParams(["token": "fresh", "refresh": refreshes]))
        manager.config = fresh
        // Behind the handler, as an app does whose token comes from its server.
        manager.handleQueue.async {
            self.manager.disconnect()
            self.socket.connect()
        }
    }
}
