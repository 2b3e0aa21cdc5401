internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

/// The configuration of a transport and what follows from it, which all its links share.
struct WebSocketSettings: Sendable {
    let configuration: WebSocketConfiguration
    /// The facts about every link.
    let facts: [String: String]
    let terms: WebSocketTerms

    init(_ configuration: WebSocketConfiguration) {
        self.configuration = configuration
        self.facts = ["protocol": "WebSocket", "carrier": "websocket", "messages": configuration.protocol.name]
        self.terms = WebSocketTerms(
            limits: WebSocketLimits { $0.maxMessageBytes = configuration.maximumMessageBytes },
            highWaterMark: configuration.highWaterMark, keepAlive: configuration.keepAlive,
            answersPings: configuration.protocol.answersPings, reportsControl: true)
    }
}
