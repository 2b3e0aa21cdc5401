internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket

/// A session and its server, in virtual time; what one sends arrives at the other at once.
///
/// It calls the protocol as a link does.
struct ProtocolConversation {
    private(set) var session: any MessageProtocol
    private(set) var peer: any MessageProtocolPeer
    private var assembly = EnvelopeAssembly(maximumBytes: 16 << 20)
    private var now = Duration.zero
    /// The actions of the client, in order.
    private(set) var heard: [PeerAction] = []
    /// The events that the session delivered, as text.
    private(set) var events: [String] = []

    /// Begins a session: the client has spoken, and the server has greeted.
    init(_ peer: any MessageProtocolPeer, resumption: Secret? = nil) throws {
        self.peer = peer
        self.session = peer.language
        let start = SessionStart(
            credentials: peer.credentials, resumption: resumption, subprotocol: self.session.subprotocols.first,
            url: try ConnectionURL("ws://server.example"))
        try self.take(try self.session.begin(start))
        try self.say(.greeting)
    }

    /// Begins a session that the server accepts, with a listener of the event.
    static func ready(
        _ peer: any MessageProtocolPeer, resumption: Secret? = nil, isResumed: Bool = false
    ) throws -> Self {
        var conversation = try Self(peer, resumption: resumption)
        try conversation.say(.acceptance(isResumed: isResumed))
        guard conversation.isReady else { throw ProtocolFailure("the session is not ready after its acceptance") }
        try conversation.setListening(true)
        return conversation
    }

    var isReady: Bool { self.session.state?.isReady ?? true }
    var isFull: Bool { self.session.state?.isFull ?? false }
    var deadline: Duration? { self.session.state?.deadline }

    /// Whether the latest action of the client is a subscription.
    var isSubscribing: Bool { if case .subscription = self.heard.last { true } else { false } }
    /// Whether the latest action of the client ends a subscription.
    var isUnsubscribing: Bool { if case .unsubscription = self.heard.last { true } else { false } }

    // MARK: The server

    /// Sends the messages of the server for an action.
    ///
    /// - Returns: whether the protocol has it.
    @discardableResult
    mutating func say(_ action: PeerAction) throws -> Bool {
        guard let messages = try self.peer.write(action) else { return false }
        for message in messages { try self.receive(message) }
        return true
    }

    /// The messages of the server for some actions, not sent.
    func messages(_ actions: [PeerAction]) throws -> [WebSocketMessage] {
        var peer = self.peer
        return try actions.flatMap { try peer.write($0) ?? [] }
    }

    /// Has a message of the server arrive.
    mutating func receive(_ message: WebSocketMessage) throws {
        try self.take(try self.assembly.receive(message, by: &self.session))
    }

    private mutating func take(_ first: LinkEvent?) throws {
        var event = first
        while let next = event {
            self.events.append(Self.line(next))
            event = self.assembly.popPending()
        }
        try self.take(self.assembly.takeAnswers())
    }

    private mutating func take(_ messages: [WebSocketMessage]) throws {
        for message in messages { self.heard += try self.peer.read(message) }
    }

    // MARK: The client

    mutating func setListening(_ isListening: Bool) throws {
        guard self.session.subscribes else { return }
        let event = self.peer.event
        try self.take(
            isListening ? try self.session.subscribe(to: event) : self.session.unsubscribe(from: event))
    }

    /// Sends an envelope, and returns what the server has heard of it.
    @discardableResult
    mutating func send(_ envelope: Envelope) throws -> PeerAction? {
        try self.send { session, buffer throws(LinkspanError) in try session.encode(envelope, to: &buffer) }
    }

    /// Sends the event as a request, and returns its mark.
    mutating func request(_ id: UInt64) throws -> String? {
        Self.mark(of: try self.send(.event(name: self.peer.event, payload: self.peer.payload, id: id)))
    }

    /// Sends the event as a delivery, and returns its mark.
    mutating func deliver(_ id: UInt64, isRepeated: Bool = false) throws -> String? {
        let delivery = EncodedDelivery(
            event: self.peer.event, payload: self.peer.payload, id: id, key: "key-\(id)", isRepeated: isRepeated)
        return Self.mark(
            of: try self.send { session, buffer throws(LinkspanError) in
                try session.encode(delivery: delivery, to: &buffer)
            })
    }

    private mutating func send(
        _ encode: (inout any MessageProtocol, inout [UInt8]) throws(LinkspanError) -> EncodedKind
    ) throws -> PeerAction? {
        let before = self.heard.count
        var buffer: [UInt8] = []
        switch try encode(&self.session, &buffer) {
        case .text: try self.take([.text(buffer[...])])
        case .binary, .selfContained: try self.take([.binary(buffer[...])])
        case .attachment: try self.take(self.peer.payload.attachments.prefix(1).map { .binary($0) })
        case .nothing, .ping, .pong: ()
        }
        return self.heard[before...].last
    }

    private static func mark(of action: PeerAction?) -> String? {
        if case .event(_, _, let mark) = action { mark } else { nil }
    }

    mutating func renew(_ credentials: Credentials) throws -> Bool {
        guard let messages = try self.session.renew(credentials) else { return false }
        try self.take(messages)
        return true
    }

    mutating func end() throws { try self.take(self.session.end()) }

    /// Lets time pass until the session's deadline, and a while longer.
    mutating func passTime(_ late: Duration = .zero) throws {
        guard let deadline = self.deadline else { throw ProtocolFailure("the session waits for nothing any more") }
        self.now = max(self.now, deadline) + late
        try self.take(try self.assembly.receive(timed: try self.session.deadlinePassed(at: self.now)))
        if let next = self.deadline, next <= self.now {
            throw ProtocolFailure("the next deadline is at \(next), although it is \(self.now) already")
        }
    }

    private static func line(_ event: LinkEvent) -> String {
        switch event {
        case .message(let message):
            "\(message.event) \(String(decoding: message.payload.elements, as: UTF8.self))"
                + (message.replyID.map { " asks \($0)" } ?? "")
        case .reply(let id, _): "reply \(id)"
        case .failed(let id, _): "failure of \(id.map { "\($0)" } ?? "nothing")"
        case .opened, .changed, .writable, .closed: "\(event)"
        }
    }
}

/// A broken promise of a protocol.
package struct ProtocolFailure: Error, Sendable, CustomStringConvertible {
    /// One sentence.
    package let description: String

    init(_ description: String) { self.description = description }
}
