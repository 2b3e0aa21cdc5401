import Foundation
import Starscream

// A service of an app: one socket for as long as it runs, opened again from the delegate, with writes that come at any time.
class SocketService: NSObject {
    static let pingInterval: TimeInterval = 20
    private var socket: WebSocket?
    private(set) var isConnected = false
    private(set) var states: [String] = []
    private var attemptsLeft: Int
    private let request: URLRequest
    var onState: ((String) -> Void)?

    init(request: URLRequest, attempts: Int = 3) {
        self.request = request
        attemptsLeft = attempts
        super.init()
    }

    func connect() {
        let socket = WebSocket(request: request)
        socket.delegate = self
        socket.callbackQueue = DispatchQueue(label: "com.example.service", qos: .userInitiated)
        self.socket = socket
        socket.connect()
    }

    func send<Message: Encodable>(_ message: Message) {
        guard let data = try? JSONEncoder().encode(message), let text = String(data: data, encoding: .utf8) else {
            return
        }
        socket?.write(string: text)
    }

    // The last word, and the end.
    func leave(_ text: String, code: CloseCode = .goingAway) {
        socket?.write(string: text)
        socket?.disconnect(closeCode: code.rawValue)
    }

    func restart() {
        socket?.disconnect()
        socket?.connect()
    }

    func ping() { socket?.write(ping: Data()) { [weak self] in self?.note("pinged") } }

    private func note(_ state: String) {
        states.append(state)
        onState?(state)
    }

    // Within the callback, as many apps have it.
    private func reconnect() {
        guard attemptsLeft > 0 else { return note("given up") }
        attemptsLeft -= 1
        socket?.connect()
    }
}

extension SocketService: WebSocketDelegate {
    func didReceive(event: Starscream.WebSocketEvent, client: Starscream.WebSocketClient) {
        switch event {
        case .connected:
            isConnected = true
            note("connected")
        case .disconnected(let reason, let code):
            isConnected = false
            note("disconnected \(code) \(reason)")
            reconnect()
        case .error(let error):
            isConnected = false
            note("error \(error.map { type(of: $0) }.map { "\($0)" } ?? "none")")
            reconnect()
        case .peerClosed:
            isConnected = false
            note("peerClosed")
            reconnect()
        case .cancelled:
            isConnected = false
            note("cancelled")
        case .text(let text): note("text \(text)")
        case .binary(let data): note("binary \(data.count)")
        case .ping, .viabilityChanged, .reconnectSuggested: break
        case .pong(let data): note("pong \(data?.count ?? -1)")
        }
    }
}
