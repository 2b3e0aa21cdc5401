internal import Linkspan
internal import LinkspanBrokers
internal import LinkspanNetwork
@testable internal import LinkspanWebSocket

/// A session without a link: what messages of the broker come to, as lines.
struct Received {
    var session: any MessageProtocol
    private var assembly = EnvelopeAssembly(maximumBytes: 16 << 20)
    /// The events, and bytes that are sent because of them.
    private(set) var lines: [String] = []
    private(set) var sent: [UInt8] = []

    init(_ language: any MessageProtocol, auth: [String: String]? = nil, resumption: Secret? = nil) throws {
        self.session = language
        let credentials = try auth.map { try Credentials(auth: $0) } ?? Credentials()
        let start = SessionStart(credentials: credentials, resumption: resumption, url: try ConnectionURL("ws://h"))
        self.sent = try self.session.begin(start).flatMap(\.bytes)
    }

    mutating func receive(_ bytes: some Sequence<UInt8>) throws(LinkspanError) {
        var event = try self.assembly.receive(.binary(Array(bytes)[...]), by: &self.session)
        while let next = event {
            self.lines.append(Self.line(next))
            event = self.assembly.popPending()
        }
        self.sent += self.assembly.takeAnswers().flatMap(\.bytes)
    }

    /// Takes what was sent until now.
    mutating func takeSent() -> [UInt8] {
        defer { self.sent = [] }
        return self.sent
    }

    /// Calls the session, and notes what it sends.
    mutating func perform(
        _ body: (inout any MessageProtocol) throws -> [WebSocketMessage]
    ) rethrows {
        self.sent += try body(&self.session).flatMap(\.bytes)
    }

    /// Sends a delivery.
    mutating func deliver(
        _ event: String, _ payload: Payload, id: UInt64, key: String? = nil, isRepeated: Bool = false
    ) throws -> EncodedKind {
        let delivery = EncodedDelivery(event: event, payload: payload, id: id, key: key, isRepeated: isRepeated)
        return try self.session.encode(delivery: delivery, to: &self.sent)
    }

    /// Sends an event, as a request if it has an id.
    mutating func send(_ event: String, _ payload: Payload, id: UInt64? = nil) throws {
        _ = try self.session.encode(.event(name: event, payload: payload, id: id), to: &self.sent)
    }

    /// Answers a question.
    mutating func reply(to id: UInt64, _ payload: Payload) throws {
        _ = try self.session.encode(.reply(id: id, payload: payload), to: &self.sent)
    }

    private static func line(_ event: LinkEvent) -> String {
        switch event {
        case .message(let message):
            let question = message.replyID.map { " asks \($0)" } ?? ""
            return "\(message.event) \(Self.text(message.payload))\(question)"
        case .reply(let id, let payload): return "reply \(id) \(Self.text(payload))"
        case .failed(let id, let error): return "failed \(id.map { "\($0)" } ?? "-") \(error.code.rawValue)"
        case .opened, .changed, .writable, .closed: return "\(event)"
        }
    }

    private static func text(_ payload: Payload) -> String {
        let blob = payload.attachments.isEmpty ? "" : " \(payload.attachments.map { Array($0) })"
        return "[\(String(decoding: payload.elements, as: UTF8.self))]\(blob)"
    }
}

extension Sequence<UInt8> {
    /// The bytes as Latin-1, which shows each of them.
    var latin: String { String(self.map { Character(UnicodeScalar($0)) }) }
}
