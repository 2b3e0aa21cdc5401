import Foundation
import SocketIO

// Doubles of an app's tests: a socket that records what is emitted and plays the server, and a manager that hands it out.
class SocketDouble: SocketIOClient {
    private(set) var emitted: [(event: String, items: [SocketData])] = []
    private(set) var connects = 0

    override init(manager: SocketManagerSpec, nsp: String) {
        super.init(manager: manager, nsp: nsp)
    }

    override func connect(withPayload payload: [String: Any]? = nil) {
        connects += 1
        didConnect(toNamespace: nsp, payload: ["sid": "double"])
    }

    override func disconnect() {
        didDisconnect(reason: "double")
    }

    override func emit(_ event: String, _ items: SocketData..., completion: (() -> ())? = nil) {
        emitted.append((event, items))
        completion?()
    }

    func receive(_ event: String, _ data: Any...) {
        handleEvent(event, data: data, isInternalMessage: false, withAck: -1)
    }
}

class ManagerDouble: SocketManager {
    lazy var double = SocketDouble(manager: self, nsp: "/")

    override func socket(forNamespace nsp: String) -> SocketIOClient {
        return double
    }

    override func connect() {
        double.connect()
    }
}

// The part of an app under test, which knows a manager alone.
class Lobby {
    private(set) var lines: [String] = []
    private let socket: SocketIOClient

    init(manager: SocketManager) {
        socket = manager.defaultSocket
        socket.on(clientEvent: .connect) { [weak self] _, _ in
            self?.lines.append("connected")
            self?.socket.emit("enter", "lobby", 7)
        }
        socket.on(clientEvent: .disconnect) { [weak self] data, _ in self?.lines.append("left: \(data)") }
        socket.on("joined") { [weak self] data, ack in
            guard let name = data.first as? String else { return }
            self?.lines.append("\(name) joined, \(ack.expected)")
        }
        manager.connect()
    }

    func leave() {
        socket.disconnect()
    }
}
