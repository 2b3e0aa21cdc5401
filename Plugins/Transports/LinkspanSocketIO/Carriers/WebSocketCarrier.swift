internal import Linkspan
internal import LinkspanLWS
internal import LinkspanLock
internal import LinkspanWebSocketClient
internal import LinkspanWebSocketProtocol

/// Carries packets over a WebSocket, one in each frame.
final class WebSocketCarrier: EngineCarrier {
    private let request: WebSocketRequest
    private let binaryType: UInt8?
    private let loop: EventLoop
    private let handler: any EngineCarrierHandler
    private let channel = Lock<WebSocketChannel?>(nil)

    init(_ request: WebSocketRequest, version: EngineIOVersion, loop: EventLoop, handler: any EngineCarrierHandler) {
        self.request = request
        self.binaryType = version.binaryType
        self.loop = loop
        self.handler = handler
    }

    func open() {
        do {
            let channel = try WebSocketChannel(self.request, on: self.loop, handler: self)
            self.channel.withLock { $0 = channel }
            channel.open()
        } catch {
            let error = LinkspanError(.invalidConfiguration, "the WebSocket request is not valid", cause: error)
            self.loop.execute { self.handler.carrierClosed(error) }
        }
    }

    func send(
        expectedLength: Int, attachments: [ArraySlice<UInt8>], write: (inout [UInt8]) -> Void
    ) -> WebSocketChannel.SendResult {
        guard let channel = self.channel.withLock({ $0 }) else { return .notOpen }
        var attachments = attachments
        if let type = self.binaryType { attachments = attachments.map { [type] + $0 } }
        return channel.send(.text, expectedLength: expectedLength, attachments: attachments, write: write)
    }

    /// Sends whole packets, in this order, with nothing between.
    func send(_ packets: [WebSocketMessage]) {
        guard let channel = self.channel.withLock({ $0 }) else { return }
        for packet in packets {
            switch packet {
            case .text(let text):
                _ = channel.send(.text, expectedLength: text.count) { $0 += text }
            case .binary(let bytes):
                _ = channel.send(.binary, expectedLength: bytes.count + 1) { buffer in
                    if let type = self.binaryType { buffer.append(type) }
                    buffer += bytes
                }
            }
        }
    }

    func sessionOpened(_ handshake: EngineIOHandshake) {}

    func close() { self.channel.withLock { $0 }?.close() }

    func abort() { self.channel.withLock { $0 }?.abort() }

    func pauseReading() { self.channel.withLock { $0 }?.pauseReading() }

    func resumeReading() { self.channel.withLock { $0 }?.resumeReading() }
}

extension WebSocketCarrier: WebSocketChannelHandler {
    func opened(subprotocol: String?) { self.handler.carrierOpened() }

    func received(_ messages: [WebSocketMessage]) {
        guard let type = self.binaryType else { return self.handler.carrierReceived(messages) }
        var packets: [WebSocketMessage] = []
        for message in messages {
            switch message {
            case .binary(let bytes):
                guard bytes.first == type else {
                    // Nothing else is sent in binary. What came before counts.
                    self.handler.carrierReceived(packets)
                    return self.abort()
                }
                packets.append(.binary(bytes.dropFirst()))
            case .text:
                packets.append(message)
            }
        }
        self.handler.carrierReceived(packets)
    }

    func drained() { self.handler.carrierDrained() }

    func closed(_ end: WebSocketEnd) {
        self.channel.withLock { $0 = nil }
        self.handler.carrierClosed(LinkspanError(end))
    }
}
