internal import Foundation
internal import Linkspan
internal import LinkspanBrokers
internal import LinkspanDevServer
internal import LinkspanNetwork
internal import LinkspanWebSocket

/// The server's side of NATS.
struct NATSPeer: MessageProtocolPeer {
    private struct Unknown: Error {}

    let language: any MessageProtocol = .nats
    let isStream = true
    var excessivePayload: Payload? { try? Payload(String(repeating: "x", count: 200)) }
    /// The numbers of subscriptions.
    private var sids: [String: String] = [:]

    // MARK: What the client says

    mutating func read(_ message: WebSocketMessage) throws -> [PeerAction] {
        var rest = String(decoding: message.bytes, as: UTF8.self)[...]
        var actions: [PeerAction] = []
        while let end = rest.range(of: "\r\n") {
            let words = rest[..<end.lowerBound].split(separator: " ").map(String.init)
            rest = rest[end.upperBound...]
            switch words[0] {
            case "CONNECT": actions.append(.greeting)
            // That of the greeting, which its PONG answers.
            case "PING": ()
            case "PONG": actions.append(.heartbeatAnswer)
            case "SUB":
                self.sids[words[1]] = words.last
                if words.last != "1" { actions.append(.subscription(words[1])) }
            case "UNSUB": actions.append(.unsubscription(self.sids.first { $0.value == words[1] }?.key ?? ""))
            case "PUB", "HPUB":
                let size = Int(words.last ?? "") ?? 0
                let body = Array(rest.utf8.prefix(size))
                rest = rest[rest.utf8.index(rest.startIndex, offsetBy: size + 2)...]
                let content = words[0] == "HPUB" ? body.dropFirst(Int(words[words.count - 2]) ?? 0) : body[...]
                let payload = try Payload(checking: content)
                let mark = words.count > (words[0] == "HPUB" ? 4 : 3) ? words[2] : nil
                let isReply = words[1].hasPrefix("back.")
                actions.append(
                    isReply
                        ? .reply(mark: String(words[1].dropFirst(5)), payload) : .event(words[1], payload, mark: mark))
            default: throw Unknown()
            }
        }
        return actions
    }

    // MARK: What the server says

    func write(_ action: PeerAction) -> [WebSocketMessage]? {
        switch action {
        case .greeting: return [Self.text(#"INFO {"server_id":"S","client_id":5,"max_payload":200}"#)]
        case .acceptance, .heartbeatAnswer: return [Self.text("PONG")]
        case .refusal: return [Self.text("-ERR 'Authorization Violation'")]
        case .event(let event, let payload, let mark):
            return self.message(event, to: event, mark.map { "back.\($0)" }, payload)
        case .reply(let mark, let payload):
            // That to a delivery comes from JetStream.
            let acknowledgement = mark.hasPrefix("_INBOX.S.5.d") ? try? Payload(["stream": "jobs"]) : nil
            return self.message(mark, to: "_INBOX.S.5.*", nil, acknowledgement ?? payload)
        case .failure(let mark): return [Self.text("HMSG \(mark) 1 16 16\r\nNATS/1.0 503\r\n\r\n")]
        case .heartbeat: return [Self.text("PING")]
        case .subscription, .unsubscription, .renewal: return nil
        }
    }

    private func message(
        _ subject: String, to subscription: String, _ reply: String?, _ payload: Payload
    ) -> [WebSocketMessage]? {
        guard let sid = self.sids[subscription] else { return [] }
        let words = ["MSG", subject, sid, reply, "\(payload.elements.count)"].compactMap(\.self)
        return [Self.text("\(words.joined(separator: " "))\r\n\(String(decoding: payload.elements, as: UTF8.self))")]
    }

    private static func text(_ text: String) -> WebSocketMessage { .binary(Array("\(text)\r\n".utf8)[...]) }
}
