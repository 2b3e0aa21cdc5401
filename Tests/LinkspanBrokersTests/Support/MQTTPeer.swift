internal import Linkspan
internal import LinkspanBrokers
internal import LinkspanDevServer
internal import LinkspanNetwork
internal import LinkspanWebSocket

/// The broker's side of MQTT.
struct MQTTPeer: MessageProtocolPeer {
    private struct Unknown: Error {}

    let language: any MessageProtocol
    let credentials: Credentials
    let isStream = true
    private let isV5: Bool
    var takesRequests: Bool { self.isV5 }
    var excessivePayload: Payload? { self.isV5 ? try? Payload(String(repeating: "x", count: 300)) : nil }

    init(version: MQTTMessageProtocol.Version) throws {
        self.language = MQTTMessageProtocol {
            $0.version = version
            $0.clientID = "me"
            $0.authenticationMethod = "JWT"
        }
        self.isV5 = version == .v5
        self.credentials = try Credentials(auth: ["username": "ann", "data": "token"])
    }

    // MARK: What the client says

    func read(_ message: WebSocketMessage) throws -> [PeerAction] {
        guard case .binary(let stream) = message else { throw Unknown() }
        var (bytes, actions): ([UInt8], [PeerAction]) = (Array(stream), [])
        while !bytes.isEmpty {
            let isLong = bytes[1] & 0x80 != 0
            let length = Int(bytes[1] & 0x7F) + (isLong ? Int(bytes[2]) << 7 : 0)
            let head = isLong ? 3 : 2
            actions += try self.action(bytes[0], Array(bytes[head..<(head + length)]))
            bytes.removeFirst(head + length)
        }
        return actions
    }

    private func action(_ first: UInt8, _ body: [UInt8]) throws -> [PeerAction] {
        switch first >> 4 {
        case 1: return [.greeting]
        case 3: return [try self.message(first, body)]
        // The acknowledgement of a question, and DISCONNECT.
        case 4, 14: return []
        case 8:
            // Behind the packet's number, and the property that numbers the subscription.
            let filter = Self.text(body, at: self.isV5 ? 3 + Int(body[2]) : 2).text
            return filter.hasPrefix("linkspan/") ? [] : [.subscription(filter)]
        case 10: return [.unsubscription(Self.text(body, at: self.isV5 ? 3 : 2).text)]
        case 12: return [.heartbeat]
        case 15: return [.renewal]
        default: throw Unknown()
        }
    }

    private static func text(_ bytes: [UInt8], at start: Int) -> (text: String, end: Int) {
        let end = start + 2 + Int(bytes[start]) << 8 + Int(bytes[start + 1])
        return (String(decoding: bytes[(start + 2)..<end], as: UTF8.self), end)
    }

    private func message(_ first: UInt8, _ body: [UInt8]) throws -> PeerAction {
        var (topic, index) = Self.text(body, at: 0)
        var mark: String?
        if first & 2 != 0 {
            mark = "delivery \(Int(body[index]) << 8 | Int(body[index + 1]))"
            index += 2
        }
        var (response, correlation): (String?, String?)
        if self.isV5 {
            let end = index + 1 + Int(body[index])
            index += 1
            while index < end {
                let kind = body[index]
                var text: String
                (text, index) = Self.text(body, at: index + 1)
                if kind == 0x08 { response = text }
                if kind == 0x09 { correlation = text }
                if kind == 0x26 { (text, index) = Self.text(body, at: index) }
            }
        }
        let payload = try Payload(checking: body[index...])
        if topic == "answers" { return .reply(mark: correlation ?? "", payload) }
        if let response, let correlation { mark = "\(response) \(correlation)" }
        return .event(topic, payload, mark: mark)
    }

    // MARK: What the broker says

    func write(_ action: PeerAction) -> [WebSocketMessage]? {
        switch action {
        case .acceptance(let isResumed):
            // Three deliveries at a time, and packets of at most 300 bytes.
            let properties: [UInt8] = self.isV5 ? [8, 0x21, 0, 3, 0x27, 0, 0, 1, 44] : []
            return Self.packet(0x20, [isResumed ? 1 : 0, 0] + properties)
        case .refusal: return Self.packet(0x20, self.isV5 ? [0, 0x87, 0] : [0, 5])
        case .event(let topic, let payload, let mark):
            guard let mark else { return self.message(topic, payload, []) }
            guard self.isV5 else { return nil }
            return self.message(topic, payload, [0x08] + Self.text("answers") + [0x09] + Self.text(mark))
        case .reply(let mark, let payload):
            let words = mark.split(separator: " ").map(String.init)
            if words[0] == "delivery" { return Self.packet(0x40, Self.number(words[1])) }
            return self.message(words[0], payload, [0x09] + Self.text(words[1]))
        case .failure(let mark):
            let words = mark.split(separator: " ").map(String.init)
            return words[0] == "delivery" ? Self.packet(0x40, Self.number(words[1]) + [0x87]) : nil
        case .heartbeatAnswer: return Self.packet(0xD0, [])
        case .greeting, .subscription, .unsubscription, .heartbeat, .renewal: return nil
        }
    }

    private func message(_ topic: String, _ payload: Payload, _ properties: [UInt8]) -> [WebSocketMessage] {
        let head = Self.text(topic) + (self.isV5 ? [UInt8(properties.count)] + properties : [])
        return Self.packet(0x30, head + payload.elements)
    }

    private static func packet(_ first: UInt8, _ body: [UInt8]) -> [WebSocketMessage] {
        [.binary([first, UInt8(body.count)] + body)]
    }
    private static func text(_ text: String) -> [UInt8] { [0, UInt8(text.utf8.count)] + Array(text.utf8) }
    private static func number(_ text: String) -> [UInt8] {
        [UInt8((Int(text) ?? 0) >> 8), UInt8((Int(text) ?? 0) & 255)]
    }
}
