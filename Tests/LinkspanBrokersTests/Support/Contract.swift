internal import Foundation
internal import Linkspan
internal import LinkspanBrokers
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanTesting
internal import LinkspanWebSocket
internal import TestSupport

/// A protocol of brokers by which each link talks to one peer alone, as a client to a server.
///
/// The event `echo` is sent as `server/ID/echo`, and comes as `client/ID/echo`, ID being the link's own.
struct RoutedProtocol: MessageProtocol {
    private var inner: any MessageProtocol
    let separator: String
    private var id = ""
    private var isListening = false

    init(_ of: BrokerCase) { (self.inner, self.separator) = (of.language, of.separator) }

    static func == (one: Self, other: Self) -> Bool { AnyHashable(one.inner) == AnyHashable(other.inner) }
    func hash(into hasher: inout Hasher) { self.inner.hash(into: &hasher) }

    var name: String { self.inner.name }
    var subprotocols: [String] { self.inner.subprotocols }
    var state: SessionState? { self.inner.state }
    var info: LinkInfo { self.inner.info }

    private func path(_ words: String...) -> String { words.joined(separator: self.separator) }
    private var filter: String { self.path("client", self.id, self.separator == "." ? "*" : "+") }

    mutating func begin(_ start: SessionStart) throws(LinkspanError) -> [WebSocketMessage] {
        self.id = UUID().uuidString
        return try self.inner.begin(start)
    }

    mutating func deadlinePassed(at time: Duration) throws(LinkspanError) -> DecodedEnvelope {
        try self.inner.deadlinePassed(at: time)
    }

    mutating func end() -> [WebSocketMessage] { self.inner.end() }

    mutating func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        guard case .event(let name, let payload, let id) = envelope else {
            return try self.inner.encode(envelope, to: &buffer)
        }
        let path = self.path("server", self.id, name)
        return try self.inner.encode(.event(name: path, payload: payload, id: id), to: &buffer)
    }

    mutating func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        try self.inner.decode(text: text)
    }

    mutating func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        let decoded = try self.inner.decode(binary: binary)
        var answers = decoded.answers
        if !self.isListening, self.inner.state?.isReady == true {
            self.isListening = true
            answers += try self.inner.subscribe(to: self.filter)
        }
        return DecodedEnvelope(
            decoded.envelopes.map { envelope in
                guard case .event(_, let payload, let id) = envelope else { return envelope }
                let (arguments, words) = payload.withoutTopic(self.separator)
                return .event(name: words.last ?? "", payload: arguments, id: id)
            }, answers: answers)
    }
}

extension Payload {
    /// The arguments before the last one, which is the topic, and the topic's words.
    func withoutTopic(_ separator: String) -> (payload: Payload, topic: [String]) {
        let values = self.values
        let text = values.dropLast().map(\.text).joined(separator: [UInt8(ascii: ",")])
        let payload = Payload(trustedElements: Array(text)[...], attachments: self.attachments)
        return (payload, (values.last?.string ?? "").components(separatedBy: separator))
    }
}

/// The server of the conformance suite, as another client of the broker.
struct ContractServer {
    let connection: ConnectionHandler
    let of: BrokerCase
    /// The links that are to be cut; nil at the end of the test.
    let cuts = Journal<String?>("links to be cut")
    /// The numbers of those after which links can be opened again.
    let restarts = Journal<Int>("links that were cut")

    init(_ connection: ConnectionHandler, _ of: BrokerCase) throws {
        (self.connection, self.of) = (connection, of)
        let wildcard = of.kind == .nats ? "*" : "+"
        _ = try connection.on(of.event("server", wildcard, wildcard)) { [self] message in
            let (payload, words) = message.payload.withoutTopic(of.separator)
            guard words.count == 3 else { return }
            self.serve(words[2], payload, message, of: words[1])
        }
    }

    private func serve(_ event: String, _ payload: Payload, _ message: Message, of id: String) {
        let client = { @Sendable (event: String) in self.of.event("client", id, event) }
        let emit = { @Sendable (event: String, payload: Payload) -> Void in
            try? self.connection.perform(Command(.send, event: client(event), payload: payload))
        }
        switch event {
        case "echo": emit("echo", payload)
        case "req": message.reply(payload: payload)
        case "ask":
            let question = Command(.request, event: client("question"), payload: payload) { outcome in
                if let answer = try? outcome.get() { emit("answered", answer) }
            }
            try? self.connection.perform(question)
        case "flood":
            let pad = String(repeating: "x", count: payload[0]?["bytes"]?.int ?? 0)
            for number in 0..<(payload[0]?["n"]?.int ?? 0) {
                if let item = try? Payload(Item(id: number, pad: pad)) { emit("item", item) }
            }
            if let count = payload[0]?["n"].flatMap({ try? Payload($0) }) { message.reply(payload: count) }
        case "whoami":
            if let nobody = try? Payload(String?.none) { message.reply(payload: nobody) }
        case "kick", "kill_engine": self.cuts.append(id)
        default: ()
        }
    }

    private struct Item: Encodable {
        let id: Int
        let pad: String
    }
}
