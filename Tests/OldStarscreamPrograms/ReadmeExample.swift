import Foundation
import Starscream

// The program of Starscream's README: a socket as a property, and all events in one switch.
class ReadmeExample: WebSocketDelegate {
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    var socket: WebSocket!
    var isConnected = false
    var lines: [String] = []
    var onLine: ((String) -> Void)?

    init() {}

    func start(url: URL) {
        var request = URLRequest(url: url)
        request.timeoutInterval = 5
        socket = WebSocket(request: request)
        socket.delegate = self
        socket.connect()
    }

    func didReceive(event: WebSocketEvent, client: WebSocket) {
        switch event {
        case .connected(let headers):
            isConnected = true
            log("websocket is connected: \(headers["Sec-WebSocket-Accept"] != nil)")
        case .disconnected(let reason, let code):
            isConnected = false
            log("websocket is disconnected: \(reason) with code: \(code)")
        case .text(let string):
            log("Received text: \(string)")
        case .binary(let data):
            log("Received data: \(data.count)")
        case .ping(_):
            break
        case .pong(_):
            break
        case .viabilityChanged(_):
            break
        case .reconnectSuggested(_):
            break
        case .cancelled:
            isConnected = false
            log("cancelled")
        case .error(let error):
            isConnected = false
            handleError(error)
        case .peerClosed:
            isConnected = false
            log("peer closed")
        }
    }

    func handleError(_ error: Error?) {
        if let e = error as? WSError {
            log("websocket encountered an error: \(e.message)")
        } else if let e = error {
            log("websocket encountered an error: \(e.localizedDescription)")
        } else {
            log("websocket encountered an error")
        }
    }

    func log(_ line: String) {
        lines.append(line)
        onLine?(line)
    }

    func sayHello() {
        socket.write(string: "Hi Server!")
        socket.write(data: Data([1, 2, 3]))
        socket.write(ping: Data())
    }

    func stop() {
        socket.disconnect()
    }
}
