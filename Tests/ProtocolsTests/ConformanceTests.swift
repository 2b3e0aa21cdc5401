internal import LinkspanDevServer
internal import LinkspanKit
internal import LinkspanNetwork
internal import Testing

@testable internal import Protocols

/// The conformance suite over the protocols of a third party.
@Suite(.timeLimit(.minutes(1)))
struct ConformanceTests {
    @Test(arguments: MessageProtocolConformance.Check.allCases)
    func `channels of Phoenix conform`(check: MessageProtocolConformance.Check) throws {
        try MessageProtocolConformance.run(check, over: PhoenixPeer())
    }

    @Test(arguments: MessageProtocolConformance.Check.allCases)
    func `GraphQL conforms`(check: MessageProtocolConformance.Check) throws {
        try MessageProtocolConformance.run(check, over: GraphQLPeer())
    }
}

/// The server's side of Phoenix.
private struct PhoenixPeer: MessageProtocolPeer {
    let language: any MessageProtocol = PhoenixProtocol()
    let event = "room:a/news"

    func read(_ message: WebSocketMessage) throws -> [PeerAction] {
        guard case .text(let text) = message, let parts = try Payload(checking: text)[0]?.elements,
            let topic = parts[2].string, let event = parts[3].string
        else { return [] }
        switch event {
        case "phx_join": return [.subscription(topic)]
        case "phx_leave": return [.unsubscription(topic)]
        case "heartbeat": return [.heartbeat]
        default: return [.event("\(topic)/\(event)", try Payload(parts[4]), mark: parts[1].string)]
        }
    }

    func write(_ action: PeerAction) throws -> [WebSocketMessage]? {
        switch action {
        case .event(let name, let payload, nil):
            let parts = name.split(separator: "/").map(String.init)
            return [Self.text(try Payload(String?.none, String?.none, parts[0], parts[1]), payload)]
        case .reply(let mark, let payload): return [try Self.reply(mark, "room:a", "ok", payload)]
        case .failure(let mark): return [try Self.reply(mark, "room:a", "error", .empty)]
        case .heartbeatAnswer: return [try Self.reply("heartbeat", "phoenix", "ok", .empty)]
        default: return nil
        }
    }

    private static func reply(
        _ reference: String, _ topic: String, _ status: String, _ response: Payload
    ) throws -> WebSocketMessage {
        var content = try Payload(["status": status])
        if let value = response[0] { try content.setField("response", to: value) }
        return self.text(try Payload(String?.none, reference, topic, "phx_reply"), content)
    }

    private static func text(_ head: Payload, _ content: Payload) -> WebSocketMessage {
        let content = content.isEmpty ? Array("{}".utf8)[...] : content.elements
        return .text((Array("[".utf8) + head.elements + Array(",".utf8) + content + Array("]".utf8))[...])
    }
}

/// The server's side of `graphql-transport-ws`.
private struct GraphQLPeer: MessageProtocolPeer {
    let language: any MessageProtocol = GraphQLProtocol(["news": "subscription { news }"])
    let takesEvents = false
    private var subscription = ""

    mutating func read(_ message: WebSocketMessage) throws -> [PeerAction] {
        guard case .text(let text) = message, let object = try Payload(checking: text)[0] else { return [] }
        let id = object["id"]?.string ?? ""
        switch object["type"]?.string {
        case "connection_init": return [.greeting]
        case "pong": return [.heartbeatAnswer]
        case "complete": return [.unsubscription(id)]
        case "subscribe" where id.hasPrefix("s"):
            self.subscription = id
            return [.subscription("news")]
        case "subscribe": return [.event("news", try Payload(object["payload"]?["variables"]), mark: id)]
        default: return []
        }
    }

    func write(_ action: PeerAction) throws -> [WebSocketMessage]? {
        switch action {
        case .acceptance: [Self.text(#"{"type":"connection_ack"}"#)]
        case .event(_, let payload, nil): [Self.next(self.subscription, payload)]
        case .reply(let mark, let payload): [Self.next(mark, payload)]
        case .failure(let mark): [Self.text(#"{"type":"error","id":"\#(mark)","payload":[{"message":"no"}]}"#)]
        case .heartbeat: [Self.text(#"{"type":"ping"}"#)]
        default: nil
        }
    }

    private static func next(_ id: String, _ payload: Payload) -> WebSocketMessage {
        let data = payload.isEmpty ? "null" : String(decoding: payload.elements, as: UTF8.self)
        return self.text(#"{"type":"next","id":"\#(id)","payload":{"data":\#(data)}}"#)
    }

    private static func text(_ text: String) -> WebSocketMessage { .text(Array(text.utf8)[...]) }
}
