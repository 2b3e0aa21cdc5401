import Foundation
import Starscream

// A wrapper as around Combine's subject: events as a stream, writes as a method.
final class EventPublisher: WebSocketDelegate {
    let events: AsyncStream<WebSocketEvent>
    private let subject: AsyncStream<WebSocketEvent>.Continuation
    private let socket: WebSocket

    init(request: URLRequest, queue: DispatchQueue = DispatchQueue(label: "com.example.events")) {
        (events, subject) = AsyncStream.makeStream(of: WebSocketEvent.self)
        socket = WebSocket(request: request, certPinner: FoundationSecurity(), useCustomEngine: false)
        socket.callbackQueue = queue
        socket.delegate = self
    }

    func connect() { socket.connect() }

    func send(_ text: String) { socket.write(string: text) }

    func finish() { socket.forceDisconnect() }

    func didReceive(event: WebSocketEvent, client: WebSocketClient) {
        subject.yield(event)
        switch event {
        case .cancelled, .peerClosed, .disconnected, .error: subject.finish()
        default: break
        }
    }
}
