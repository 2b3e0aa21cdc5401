internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

/// Keeps the messages and the ends of a channel.
final class ChannelRecorder: WebSocketChannelHandler {
    private(set) var ends: [WebSocketEnd] = []
    private(set) var messages: [WebSocketMessage] = []

    func opened(subprotocol: String?) {}
    func received(_ next: () -> WebSocketMessage?) { while let message = next() { self.messages.append(message) } }
    func writable() {}
    func closed(_ end: WebSocketEnd) { self.ends.append(end) }
}
