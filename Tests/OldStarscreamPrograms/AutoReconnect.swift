import Foundation
import Starscream

// Reconnects by hand after each loss, and sends again what the server has not echoed.
public class AutoReconnect: WebSocketDelegate {
    private let socket: WebSocket
    private let queue = DispatchQueue(label: "com.example.reconnect")
    private var isConnected = false
    private var unconfirmed: [Int] = []
    private var isStopped = false
    public private(set) var confirmed: [Int] = []
    public private(set) var connections = 0
    public private(set) var endings = 0
    public var onConfirmed: ((Int) -> Void)?
    public var onConnected: ((Int) -> Void)?
    public var onEvent: ((WebSocketEvent) -> Void)?

    public init(request: URLRequest) {
        socket = WebSocket(request: request)
        socket.callbackQueue = queue
        socket.delegate = self
    }

    public func start() {
        socket.connect()
    }

    public func stop() {
        queue.sync { isStopped = true }
        socket.disconnect()
    }

    public func send(_ number: Int) {
        queue.async {
            self.unconfirmed.append(number)
            if self.isConnected { self.socket.write(string: String(number)) }
        }
    }

    public func snapshot() -> (confirmed: [Int], connections: Int, endings: Int) {
        return queue.sync { (confirmed, connections, endings) }
    }

    public func didReceive(event: WebSocketEvent, client: WebSocketClient) {
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
