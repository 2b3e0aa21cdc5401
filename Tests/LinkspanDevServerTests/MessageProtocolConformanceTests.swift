internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import Testing

/// The conformance suite over the built-in protocols, and over protocols with one flaw each.
@Suite(.timeLimit(.minutes(1)))
struct MessageProtocolConformanceTests {
    @Test(arguments: MessageProtocolConformance.Check.allCases)
    func `JSON conforms`(check: MessageProtocolConformance.Check) throws {
        try MessageProtocolConformance.run(check, over: JSONPeer())
    }

    @Test(arguments: MessageProtocolConformance.Check.allCases)
    func `plain texts conform`(check: MessageProtocolConformance.Check) throws {
        try MessageProtocolConformance.run(check, over: TextPeer())
    }

    @Test(arguments: MessageProtocolConformance.Check.allCases)
    func `a protocol with every part conforms`(check: MessageProtocolConformance.Check) throws {
        try MessageProtocolConformance.run(check, over: WordPeer())
    }

    @Test(arguments: WordProtocol.Flaw.allCases)
    func `a protocol that breaks a promise is found out`(_ flaw: WordProtocol.Flaw) throws {
        let failed = MessageProtocolConformance.Check.allCases.filter { check in
            (try? MessageProtocolConformance.run(check, over: WordPeer(flaw: flaw))) == nil
        }
        #expect(failed.contains { $0.description == flaw.rawValue }, "\(failed.map(\.description))")
    }
}

/// The server's side of JSON envelopes.
private struct JSONPeer: MessageProtocolPeer {
    let language: any MessageProtocol = .json

    func read(_ message: WebSocketMessage) throws -> [PeerAction] {
        guard case .text(let text) = message, let object = try Payload(checking: text)[0] else { return [] }
        let payload = try Payload(object["data"]?[0])
        guard let event = object["event"]?.string else { return [.reply(mark: "\(object["ack"]?.int ?? 0)", payload)] }
        return [.event(event, payload, mark: object["id"]?.int.map { "\($0)" })]
    }

    func write(_ action: PeerAction) throws -> [WebSocketMessage]? {
        switch action {
        case .event(let name, let payload, let mark):
            let id = mark.map { #","id":\#($0)"# } ?? ""
            return [Self.text(#"{"event":"\#(name)","data":[\#(Self.text(of: payload))]\#(id)}"#)]
        case .reply(let mark, let payload): return [Self.text(#"{"ack":\#(mark),"data":[\#(Self.text(of: payload))]}"#)]
        default: return nil
        }
    }

    private static func text(of payload: Payload) -> String { String(decoding: payload.elements, as: UTF8.self) }
    private static func text(_ text: String) -> WebSocketMessage { .text(Array(text.utf8)[...]) }
}
