import Foundation
import Starscream

// Stands for a bar button of UIKit.
public class BarButton {
    public var title = "Disconnect"
    public init() {}
}

// A view controller as in the example project: one button writes, the other connects and disconnects.
public class ViewController: WebSocketDelegate {
    var socket: WebSocket!
    public private(set) var isConnected = false
    public var onChange: ((Bool, String) -> Void)?

    public init() {}

    public func viewDidLoad(_ address: String, pinner: CertificatePinning = FoundationSecurity()) {
        var request = URLRequest(url: URL(string: address)!)
        request.timeoutInterval = 5
        socket = WebSocket(request: request, certPinner: pinner)
        socket.delegate = self
        socket.connect()
    }

    public func didReceive(event: WebSocketEvent, client: WebSocketClient) {
        switch event {
        case .connected:
            isConnected = true
            onChange?(true, "connected")
        case .text(let string):
            onChange?(isConnected, string)
        case .disconnected, .cancelled, .peerClosed:
            isConnected = false
            onChange?(false, "\(event)")
        case .error(let error):
            isConnected = false
            onChange?(false, error?.localizedDescription ?? "unknown")
        default:
            break
        }
    }

    public func writeText(_ sender: BarButton) {
        socket.write(string: "hello there!")
    }

    public func disconnect(_ sender: BarButton) {
        if isConnected {
            sender.title = "Connect"
            socket.disconnect()
        } else {
            sender.title = "Disconnect"
            socket.connect()
        }
    }
}
