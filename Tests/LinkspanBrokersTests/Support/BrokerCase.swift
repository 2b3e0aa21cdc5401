internal import LinkspanBrokers
internal import LinkspanWebSocket
internal import Testing

/// A broker with its protocol, and the event for words that are separated as there.
struct BrokerCase: Sendable, CustomTestStringConvertible {
    let kind: Broker.Kind
    let language: any MessageProtocol
    let separator: String

    static let all = [
        // So short that a half-open link is found at once.
        Self(kind: .mosquitto, language: MQTTMessageProtocol { $0.keepAlive = .seconds(1) }, separator: "/"),
        Self(kind: .nats, language: NATSMessageProtocol(), separator: "."),
    ]

    var testDescription: String { self.language.name }
    func event(_ words: String...) -> String { words.joined(separator: self.separator) }
}
