internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanNetwork
internal import LinkspanWebSocket

/// A protocol that has everything a protocol can have, as a stream of lines of words, and may break one promise.
struct WordProtocol: MessageProtocol {
    /// A broken promise, by the check that has to find it.
    enum Flaw: String, CaseIterable {
        case opensEarly = "opens when the server accepts, and not before"
        case saysRefused = "reports refused credentials"
        case forgivesSilence = "sends heartbeats, and ends when none is answered"
        case ignoresHeartbeats = "answers the server's heartbeats"
        case hidesRenewal = "shows renewed credentials, or asks for a new link"
        case alwaysResumes = "goes on with a former session only if the server does"
        case babbles = "says goodbye in words of the protocol"
        case losesArguments = "carries events both ways unchanged"
        case neverUnsubscribes = "subscribes for the first listener, and ends that after the last"
        case forgetsListeners = "subscribes again over the next link"
        case takesAll = "refuses what is too large, and goes on"
        case mixesReplies = "ends requests by their own replies, in any order"
        case failsNobody = "ends a request that the server refuses, and no other"
        case deliversOnce = "takes acknowledgements of deliveries, again over the next link"
        case staysFull = "has room again when deliveries are acknowledged"
        case mixesQuestions = "answers the server's questions"
        case readsWholeLines = "reads a stream the same however it is cut"
        case quotesLines = "ends with an error when it is sent what is malformed, or takes no notice"
    }

    let name = "words"
    let flaw: Flaw?
    /// True if renewed credentials need a new link.
    let refusesRenewal: Bool
    private var rest = ""
    private var isWelcome = false
    private var token: Secret?
    private var heartbeat: (due: Duration?, isAwaited: Bool) = (nil, false)
    private var unacknowledged: Set<UInt64> = []
    private var isStuck = false
    private var questions: [String] = []
    private(set) var info = LinkInfo()

    init(flaw: Flaw?, refusesRenewal: Bool = false) { (self.flaw, self.refusesRenewal) = (flaw, refusesRenewal) }

    static func == (one: Self, other: Self) -> Bool { one.flaw == other.flaw }
    func hash(into hasher: inout Hasher) { hasher.combine(self.flaw) }

    static func line(_ words: String...) -> WebSocketMessage {
        .binary(Array("\(words.joined(separator: " "))\n".utf8)[...])
    }

    static func text(_ payload: Payload) -> String { String(decoding: payload.elements, as: UTF8.self) }

    // MARK: The session

    var state: SessionState? {
        SessionState(
            isReady: self.isWelcome || self.flaw == .opensEarly, isFull: self.unacknowledged.count >= 3 || self.isStuck,
            deadline: self.heartbeat.due)
    }
    var resumption: Secret? { self.token }
    var subscribes: Bool { true }

    mutating func begin(_ start: SessionStart) -> [WebSocketMessage] {
        self.token = start.resumption
        return [Self.line("hello")]
    }

    mutating func deadlinePassed(at time: Duration) throws(LinkspanError) -> DecodedEnvelope {
        guard !self.heartbeat.isAwaited || self.flaw == .forgivesSilence else {
            throw LinkspanError(.heartbeatMissed, "no pong")
        }
        self.heartbeat = (time + .seconds(5), true)
        return DecodedEnvelope(answers: [Self.line("ping")])
    }

    func subscribe(to event: String) -> [WebSocketMessage] {
        self.flaw == .forgetsListeners && self.info.isContinuous ? [] : [Self.line("sub", event)]
    }
    func unsubscribe(from event: String) -> [WebSocketMessage] {
        self.flaw == .neverUnsubscribes ? [] : [Self.line("unsub", event)]
    }
    func renew(_ credentials: Credentials) throws(LinkspanError) -> [WebSocketMessage]? {
        if self.refusesRenewal { throw LinkspanError(.credentialsRefused, "no others") }
        return self.flaw == .hidesRenewal ? [] : [Self.line("renew")]
    }
    func end() -> [WebSocketMessage] { [Self.line(self.flaw == .babbles ? "so long" : "bye")] }

    // MARK: Messages

    mutating func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        switch envelope {
        case .event(let name, let payload, let id):
            guard payload.elements.count < 100 || self.flaw == .takesAll else {
                throw LinkspanError(.messageTooLarge, "more than 100 bytes")
            }
            let text = self.flaw == .losesArguments && id == nil ? "" : Self.text(payload)
            buffer += Self.line("event", name, id.map { "\($0)" } ?? "-", text).bytes
        case .reply(let id, let payload):
            let mark = self.flaw == .mixesQuestions ? self.questions[0] : self.questions[Int(id) - 1]
            buffer += Self.line("reply", mark, Self.text(payload)).bytes
        }
        return .selfContained
    }

    mutating func encode(delivery: EncodedDelivery, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        if delivery.isRepeated, self.flaw == .deliversOnce { return .nothing }
        self.unacknowledged.insert(delivery.id)
        return try self.encode(.event(name: delivery.event, payload: delivery.payload, id: delivery.id), to: &buffer)
    }

    func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        throw LinkspanError(.protocolViolation, "a text message")
    }

    mutating func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        // Only whole characters, because bytes may be cut within one.
        var bytes = Array(self.rest.unicodeScalars.map { UInt8($0.value) }) + binary
        var (envelopes, answers): ([Envelope], [WebSocketMessage]) = ([], [])
        var failures: [DecodedEnvelope.Failure] = []
        while let end = bytes.firstIndex(of: 10) {
            let line = String(decoding: bytes[..<end], as: UTF8.self)
            bytes.removeSubrange(...end)
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
            try self.take(words, &envelopes, &answers, &failures)
        }
        self.rest = self.flaw == .readsWholeLines ? "" : String(bytes.map { Character(UnicodeScalar($0)) })
        return DecodedEnvelope(envelopes, answers: answers, failures: failures)
    }

    private mutating func take(
        _ words: [String], _ envelopes: inout [Envelope], _ answers: inout [WebSocketMessage],
        _ failures: inout [DecodedEnvelope.Failure]
    ) throws(LinkspanError) {
        let id = words.count > 1 ? UInt64(words[1]) : nil
        switch words[0] {
        case "welcome":
            self.isWelcome = true
            self.info.isContinuous = words.last == "back" && self.token != nil || self.flaw == .alwaysResumes
            self.token = Secret("token")
            self.heartbeat.due = .seconds(5)
        case "denied": throw LinkspanError(self.flaw == .saysRefused ? .refused : .credentialsRefused, "denied")
        case "ping": answers += self.flaw == .ignoresHeartbeats ? [] : [Self.line("pong")]
        case "pong": self.heartbeat.isAwaited = false
        case "event" where words.count == 4:
            if words[2] != "-" { self.questions.append(words[2]) }
            let payload = try Payload(checking: Array(words[3].utf8)[...])
            let question = words[2] == "-" ? nil : UInt64(self.questions.count)
            envelopes.append(.event(name: words[1], payload: payload, id: question))
        case "reply":
            guard let id else { fallthrough }
            self.isStuck = self.flaw == .staysFull && (self.isStuck || self.unacknowledged.count >= 3)
            self.unacknowledged.remove(id)
            envelopes.append(.reply(id: self.flaw == .mixesReplies ? 1 : id, payload: .empty))
        case "fail": failures.append(.init(id: self.flaw == .failsNobody ? nil : id, LinkspanError(.refused, "no")))
        default:
            throw LinkspanError(.protocolViolation, "unknown\(self.flaw == .quotesLines ? "\n" : ": ")word")
        }
    }
}

/// The server's side of it.
struct WordPeer: MessageProtocolPeer {
    private struct Unknown: Error {}

    let language: any MessageProtocol
    let isStream = true
    var excessivePayload: Payload? { try? Payload(String(repeating: "x", count: 200)) }

    init(flaw: WordProtocol.Flaw? = nil) { self.language = WordProtocol(flaw: flaw) }

    func read(_ message: WebSocketMessage) throws -> [PeerAction] {
        let line = String(decoding: message.bytes, as: UTF8.self).dropLast()
        let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        switch words[0] {
        case "hello": return [.greeting]
        case "ping": return [.heartbeat]
        case "pong": return [.heartbeatAnswer]
        case "renew": return [.renewal]
        case "bye": return []
        case "sub": return [.subscription(words[1])]
        case "unsub": return [.unsubscription(words[1])]
        case "event":
            let payload = try Payload(checking: Array(words[3].utf8)[...])
            return [.event(words[1], payload, mark: words[2] == "-" ? nil : words[2])]
        case "reply": return [.reply(mark: words[1], try Payload(checking: Array(words[2].utf8)[...]))]
        default: throw Unknown()
        }
    }

    func write(_ action: PeerAction) -> [WebSocketMessage]? {
        switch action {
        case .acceptance(let isResumed): [WordProtocol.line("welcome", isResumed ? "back" : "new")]
        case .refusal: [WordProtocol.line("denied")]
        case .event(let event, let payload, let mark):
            [WordProtocol.line("event", event, mark ?? "-", WordProtocol.text(payload))]
        case .reply(let mark, let payload): [WordProtocol.line("reply", mark, WordProtocol.text(payload))]
        case .failure(let mark): [WordProtocol.line("fail", mark)]
        case .heartbeat: [WordProtocol.line("ping")]
        case .heartbeatAnswer: [WordProtocol.line("pong")]
        case .greeting, .subscription, .unsubscription, .renewal: nil
        }
    }
}

/// The server's side of plain texts.
struct TextPeer: MessageProtocolPeer {
    let language: any MessageProtocol = .text
    let event = "text"
    var payload: Payload { Payload(trustedElements: Array(#""ä""#.utf8)[...]) }
    let takesRequests = false

    func read(_ message: WebSocketMessage) throws -> [PeerAction] {
        [.event("text", try Payload(String(decoding: message.bytes, as: UTF8.self)), mark: nil)]
    }

    func write(_ action: PeerAction) throws -> [WebSocketMessage]? {
        guard case .event(_, let payload, nil) = action, let text = payload[0]?.string else { return nil }
        return [.text(Array(text.utf8)[...])]
    }
}
