import LinkspanKit
import LinkspanNetwork

/// GraphQL over WebSocket, in the protocol `graphql-transport-ws` (github.com/enisdenjo/graphql-ws, PROTOCOL.md).
///
/// An event is the name of an operation. A listener runs it as a subscription; a request runs it once, with its argument as
/// the variables.
struct GraphQLProtocol: MessageProtocol {
    let name = "graphql"
    let subprotocols = ["graphql-transport-ws"]
    /// The documents of the operations, by their names.
    let operations: [String: String]

    private var isReady = false
    /// The identifiers of subscriptions, by operation and the other way.
    private var running: [String: String] = [:]
    private var lastID = 0
    /// The requests without a result.
    private var asked: Set<UInt64> = []

    init(_ operations: [String: String]) { self.operations = operations }

    // MARK: The session

    func begin(_ start: SessionStart) throws(LinkspanError) -> [WebSocketMessage] {
        [.text(try Self.message("connection_init", payload: start.credentials.auth))]
    }

    var state: SessionState? { SessionState(isReady: self.isReady) }

    // MARK: Subscriptions

    var subscribes: Bool { true }

    mutating func subscribe(to event: String) throws(LinkspanError) -> [WebSocketMessage] {
        self.lastID += 1
        let id = "s\(self.lastID)"
        let message = try self.run(event, id)
        self.running[id] = event
        return [.text(message)]
    }

    mutating func unsubscribe(from event: String) -> [WebSocketMessage] {
        guard let id = self.running.first(where: { $0.value == event })?.key else { return [] }
        self.running[id] = nil
        return (try? Self.message("complete", id: id)).map { [.text($0)] } ?? []
    }

    // MARK: Messages

    mutating func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        guard case .event(let name, let payload, let id?) = envelope else {
            throw LinkspanError(.encodingFailed, "GraphQL has requests and subscriptions, and no events of clients")
        }
        buffer += try self.run(name, "r\(id)", payload[0])
        self.asked.insert(id)
        return .text
    }

    mutating func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        let message = try Payload(checking: text)[0]
        let (id, content) = (message?["id"]?.string ?? "", message?["payload"])
        let request = id.hasPrefix("r") ? UInt64(id.dropFirst()) : nil
        let isFirst = request.flatMap { self.asked.remove($0) } != nil
        switch message?["type"]?.string {
        case "connection_ack":
            self.isReady = true
            return DecodedEnvelope([])
        case "ping": return DecodedEnvelope([], answers: [.text(try Self.message("pong"))])
        case "pong": return DecodedEnvelope([])
        case "next":
            let (value, errors) = (content?["data"], content?["errors"])
            // A result with errors may have the rest of the data: a subscription brings it, a request fails.
            if let errors, request != nil || value?.isNull ?? true { return try Self.failure(request, errors) }
            let data = try value.map { value throws(LinkspanError) in try Payload(value) } ?? .empty
            if let request { return DecodedEnvelope(.reply(id: request, payload: data)) }
            guard let event = self.running[id] else { return DecodedEnvelope([]) }
            var failures: [DecodedEnvelope.Failure] = []
            if let errors { failures = try Self.failure(nil, errors).failures }
            return DecodedEnvelope([.event(name: event, payload: data, id: nil)], failures: failures)
        case "error":
            self.running[id] = nil
            return try Self.failure(request, content)
        case "complete":
            self.running[id] = nil
            guard isFirst else { return DecodedEnvelope([]) }
            let error = LinkspanError(.messageRefused, "GraphQL: the operation has ended without a result")
            return DecodedEnvelope([], failures: [.init(id: request, error)])
        default: throw LinkspanError(.protocolViolation, "a message of GraphQL has no type that is known")
        }
    }

    func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        throw LinkspanError(.protocolViolation, "a binary message where only JSON is expected")
    }

    private static func failure(_ id: UInt64?, _ errors: PayloadValue?) throws(LinkspanError) -> DecodedEnvelope {
        let text = errors?[0]?["message"]?.string ?? "an error without a message"
        let details = try errors.map { errors throws(LinkspanError) in try Payload(errors) }
        let error = LinkspanError(.messageRefused, "GraphQL: \(ForeignText.line(text))", details: details)
        return DecodedEnvelope([], failures: [.init(id: id, error)])
    }

    private func run(
        _ name: String, _ id: String, _ variables: PayloadValue? = nil
    ) throws(LinkspanError) -> ArraySlice<UInt8> {
        guard let document = self.operations[name] else {
            throw LinkspanError(.encodingFailed, "no operation is called '\(name)'")
        }
        var content = try Payload(["query": document])
        if let variables { try content.setField("variables", to: variables) }
        return try Self.message("subscribe", id: id, payload: content)
    }

    private static func message(
        _ type: String, id: String? = nil, payload: Payload? = nil
    ) throws(LinkspanError) -> ArraySlice<UInt8> {
        var message = try Payload(["type": type])
        if let id { try message.setField("id", to: id) }
        if let value = payload?[0] { try message.setField("payload", to: value) }
        return message.elements
    }
}
