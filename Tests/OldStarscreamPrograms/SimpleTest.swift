import Foundation
import Starscream

// Stands for a bar button of UIKit.
class BarButton {
    var title = "Disconnect"
    init() {}
}

// A view controller as in the example project: one button writes, the other connects and disconnects.
class ViewController: WebSocketDelegate {
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    var socket: WebSocket!
    private(set) var isConnected = false
    var onChange: ((Bool, String) -> Void)?

    init() {}

    func viewDidLoad(_ address: String, pinner: CertificatePinning = FoundationSecurity()) {
        // swift-format-ignore: NeverForceUnwrap
        var request = URLRequest(url: URL(string: address)!)
        request.timeoutInterval = 5
        socket = WebSocket(request: request, certPinner: pinner)
        socket.delegate = self
        socket.connect()
    }

    func didReceive(event: WebSocketEvent, client: WebSocketClient) {
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

    func writeText(_ sender: BarButton) {
        socket.write(string: "hello there!")
    }

    func disconnect(_ sender: BarButton) {
        if isConnected {
            sender.title = "Connect"
            socket.disconnect()
        } else {
            sender.title = "Disconnect"
            socket.connect()
        }
    }
}
