import Foundation
import Starscream

// Reconnects by hand after each loss, and sends again what the server has not echoed.
class AutoReconnect: WebSocketDelegate {
    private let socket: WebSocket
    private let queue = DispatchQueue(label: "com.example.reconnect")
    private var isConnected = false
    private var unconfirmed: [Int] = []
    private var isStopped = false
    private(set) var confirmed: [Int] = []
    private(set) var connections = 0
    private(set) var endings = 0
    var onConfirmed: ((Int) -> Void)?
    var onConnected: ((Int) -> Void)?
    var onEvent: ((WebSocketEvent) -> Void)?

    init(request: URLRequest) {
        socket = WebSocket(request: request)
        socket.callbackQueue = queue
        socket.delegate = self
    }

    func start() {
        socket.connect()
    }

    func stop() {
        queue.sync { isStopped = true }
        socket.disconnect()
    }

    func send(_ number: Int) {
        queue.async {
            self.unconfirmed.append(number)
            if self.isConnected { self.socket.write(string: String(number)) }
        }
    }

    func snapshot() -> (confirmed: [Int], connections: Int, endings: Int) {
        return queue.sync { (confirmed, connections, endings) }
    }

    func didReceive(event: WebSocketEvent, client: WebSocketClient) {
        onEvent?(event)
        switch event {
        case .connected:
            isConnected = true
            connections += 1
            for number in unconfirmed { socket.write(string: String(number)) }
            onConnected?(connections)
        case .text(let text):
            guard let number = Int(text) else { return }
            unconfirmed.removeAll { $0 == number }
            confirmed.append(number)
            onConfirmed?(number)
        case .disconnected, .error, .peerClosed, .cancelled:
            isConnected = false
            endings += 1
            reconnect()
        default:
            break
        }
    }

    private func reconnect() {
        if isStopped { return }
        queue.asyncAfter(deadline: .now() + 0.05) { [weak self] in
            guard let self = self, !self.isStopped else { return }
            self.socket.connect()
        }
    }
}
