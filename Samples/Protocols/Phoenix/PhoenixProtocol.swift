import LinkspanKit
import LinkspanNetwork

/// Channels of Phoenix, in version 2 of its serializer: each message is `[join reference, reference, topic, event, payload]`.
///
/// The event `room:lobby/said` is the message `said` of the topic `room:lobby`, which is joined for its first listener.
struct PhoenixProtocol: MessageProtocol {
    let name = "phoenix"
    /// The interval of heartbeats; the server gives a client up after 60 s without one.
    var heartbeat = Duration.seconds(30)

    private var session = Session()

    private struct Session: Hashable {
        /// The payload of joins.
        var parameters = Payload.empty
        /// The events with listeners, by topic.
        var joined: [String: Set<String>] = [:]
        var deadline: Duration?
        var awaitsHeartbeat = false
        /// The topics whose channels have crashed since the last heartbeat, and those to be joined with the next one.
        var crashed: Set<String> = []
        var waiting: Set<String> = []
    }

    init(heartbeat: Duration = .seconds(30)) { self.heartbeat = heartbeat }

    // MARK: The session

    mutating func begin(_ start: SessionStart) -> [WebSocketMessage] {
        self.session.parameters = start.credentials.auth ?? .empty
        self.session.deadline = self.heartbeat
        return []
    }

    var state: SessionState? { SessionState(deadline: self.session.deadline) }

    mutating func deadlinePassed(
        at time: Duration
    ) throws(LinkspanError) -> DecodedEnvelope {
        guard !self.session.awaitsHeartbeat else {
            throw LinkspanError(.heartbeatMissed, "Phoenix has not answered a heartbeat")
        }
        self.session.awaitsHeartbeat = true
        self.session.deadline = time + self.heartbeat
        var answers = [try Self.message(nil, "heartbeat", "phoenix", "heartbeat", .empty)]
        for topic in self.session.waiting { answers.append(try self.join(topic)) }
        (self.session.crashed, self.session.waiting) = (self.session.waiting, [])
        return DecodedEnvelope(answers: answers)
    }

    // MARK: Topics

    var subscribes: Bool { true }

    mutating func subscribe(to name: String) throws(LinkspanError) -> [WebSocketMessage] {
        let (topic, _) = try Self.parts(of: name)
        let isNew = self.session.joined[topic, default: []].isEmpty
        self.session.joined[topic, default: []].insert(name)
        return isNew ? [try self.join(topic)] : []
    }

    mutating func unsubscribe(from event: String) -> [WebSocketMessage] {
        guard let topic = try? Self.parts(of: event).topic, self.session.joined[topic]?.remove(event) != nil,
            self.session.joined[topic]?.isEmpty == true,
            let leave = try? Self.message(topic, "leave", topic, "phx_leave", .empty)
        else { return [] }
        self.session.joined[topic] = nil
        self.session.waiting.remove(topic)
        return [leave]
    }

    private func join(_ topic: String) throws(LinkspanError) -> WebSocketMessage {
        try Self.message(topic, "join", topic, "phx_join", self.session.parameters)
    }

    // MARK: Messages

    mutating func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        guard case .event(let name, let payload, let id) = envelope else {
            throw LinkspanError(.encodingFailed, "Phoenix asks clients nothing")
        }
        let (topic, event) = try Self.parts(of: name)
        guard self.session.joined[topic] != nil else {
            throw LinkspanError(.encodingFailed, "'\(topic)' is not joined: listen to one of its events before")
        }
        buffer += try Self.text(topic, id.map { "\($0)" }, topic, event, payload)
        return .text
    }

    mutating func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        guard let parts = try Payload(checking: text)[0]?.elements, parts.count == 5, let topic = parts[2].string,
            let event = parts[3].string
        else { throw LinkspanError(.protocolViolation, "a message of Phoenix has not five parts") }
        switch event {
        case "phx_reply": return try self.reply(to: parts[1].string ?? "", topic, parts[4])
        // The channel has crashed; it is there again for who joins. One that crashes again is not joined again at once.
        case "phx_error" where self.session.joined[topic] != nil:
            let isFirst = self.session.crashed.insert(topic).inserted
            if !isFirst { self.session.waiting.insert(topic) }
            return DecodedEnvelope([], answers: isFirst ? [try self.join(topic)] : [])
        case "phx_error", "phx_close": return DecodedEnvelope([])
        default:
            return DecodedEnvelope(.event(name: "\(topic)/\(event)", payload: try Payload(parts[4]), id: nil))
        }
    }

    mutating func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        throw LinkspanError(.protocolViolation, "a binary message, which was not asked for")
    }

    private mutating func reply(
        to reference: String, _ topic: String, _ answer: PayloadValue
    ) throws(LinkspanError) -> DecodedEnvelope {
        if topic == "phoenix" { self.session.awaitsHeartbeat = false }
        let response = try answer["response"].map { value throws(LinkspanError) in try Payload(value) } ?? .empty
        let id = UInt64(reference)
        guard answer["status"]?.string != "ok" else {
            return DecodedEnvelope(id.map { [.reply(id: $0, payload: response)] } ?? [])
        }
        let error = LinkspanError(
            .messageRefused, "Phoenix refuses \(reference) of '\(topic)'", details: response)
        return DecodedEnvelope([], failures: [.init(id: id, error)])
    }

    private static func parts(of event: String) throws(LinkspanError) -> (topic: String, event: String) {
        guard let slash = event.lastIndex(of: "/") else {
            throw LinkspanError(.encodingFailed, "'\(event)' is not written as `topic/event`")
        }
        return (String(event[..<slash]), String(event[event.index(after: slash)...]))
    }

    private static func text(
        _ join: String?, _ reference: String?, _ topic: String, _ event: String, _ payload: Payload
    ) throws(LinkspanError) -> [UInt8] {
        guard payload.attachments.isEmpty, payload[1] == nil else {
            throw LinkspanError(.encodingFailed, "a message of Phoenix has one JSON object")
        }
        let head = try Payload(join, reference, topic, event).elements
        return Array("[".utf8) + head + ",".utf8 + (payload.isEmpty ? Array("{}".utf8)[...] : payload.elements)
            + "]".utf8
    }

    private static func message(
        _ join: String?, _ reference: String?, _ topic: String, _ event: String, _ payload: Payload
    ) throws(LinkspanError) -> WebSocketMessage {
        .text(try Self.text(join, reference, topic, event, payload)[...])
    }
}
