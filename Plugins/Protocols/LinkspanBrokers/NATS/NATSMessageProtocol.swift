internal import Foundation
public import Linkspan
public import LinkspanNetwork
public import LinkspanWebSocket

/// NATS over WebSocket: events are messages on subjects, of a server that speaks protocol version 1 ("NATS client protocol"
/// on docs.nats.io).
///
/// | here | there |
/// | --- | --- |
/// | the name of an event | the subject |
/// | a listener | a subscription, of the subject or by wildcards; then the last argument of an event is its subject |
/// | `send` | `PUB`: at most once |
/// | `request` | a request with an inbox of its own; `serverUnavailable` at once when nobody listens |
/// | `deliver` | a publication to JetStream, whose message id is the key: once within the stream's window |
/// | the credentials' auth payload | the fields `user` and `pass`, `token` or `jwt` of `CONNECT` |
///
/// JetStream alone acknowledges a delivery; what a listener replies to it is dropped. The server's other nodes are endpoints from then
/// on. One argument is the content of a message; several are a JSON array, which the header `Linkspan-Arguments` marks.
public struct NATSMessageProtocol: MessageProtocol {
    /// `nats`.
    public let name = "nats"
    /// The queue group of all subscriptions, whose members share the messages between them (default nil: none).
    public var queueGroup: String?
    /// The beginning of the subjects for replies, which the server has to allow (default `_INBOX`).
    public var inboxPrefix = "_INBOX"
    /// Signs the server's nonce for credentials of a public key (default nil: none).
    public var signer: (any NATSSigner)?

    private var session = Session()

    private struct Session: Sendable {
        var feed = ByteFeed()
        var start: SessionStart?
        var isReady = false
        /// The beginning of this session's subjects for replies.
        var inbox = ""
        /// The server's refusal of these subjects; without replies there are no requests and deliveries.
        var refusal: LinkspanError?
        var largestContent = Int.max
        var info = LinkInfo()
        var subscriptions = Subscriptions()
        var questions = Questions<String>()
        var asked = Asked()
    }

    /// The defaults named at the properties, changed by `configure`.
    public init(_ configure: (inout Self) -> Void = { _ in }) { configure(&self) }

    /// Compares what is configured.
    public static func == (one: Self, other: Self) -> Bool {
        one.queueGroup == other.queueGroup && one.inboxPrefix == other.inboxPrefix
            && one.signer?.publicKey == other.signer?.publicKey
    }

    /// Hashes what is configured.
    public func hash(into hasher: inout Hasher) {
        hasher.combine([self.queueGroup, self.inboxPrefix, self.signer?.publicKey])
    }
}

/// Signs for a user whom the server knows by a public key (an nkey).
public protocol NATSSigner: Sendable {
    /// The public key as text, such as `UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4`.
    var publicKey: String { get }

    /// The Ed25519 signature of the server's nonce.
    ///
    /// - Throws: whatever there is; the attempt fails with code `credentialsUnavailable`.
    func sign(_ nonce: [UInt8]) throws -> [UInt8]
}

// MARK: - The session

extension NATSMessageProtocol {
    /// Waits for the server's information; it answers that with the credentials.
    public mutating func begin(_ start: SessionStart) -> [WebSocketMessage] {
        self.session.start = start
        return []
    }

    /// Ready when the server has taken the credentials.
    public var state: SessionState? { SessionState(isReady: self.session.isReady) }

    /// The server's name and version, and the other nodes of its cluster.
    public var info: LinkInfo { self.session.info }

    /// Ends the subscriptions, so that other members of the queue group get further messages.
    ///
    /// Messages that the server sends before it reads the `UNSUB` are lost with the link.
    public mutating func end() -> [WebSocketMessage] {
        self.session.subscriptions.numbers.map { Self.line("UNSUB \($0)") }
    }

    private static func line(_ text: String) -> WebSocketMessage { .binary(Array("\(text)\r\n".utf8)[...]) }

    /// Takes the server's information, each time its nodes; the first one is answered by `CONNECT`.
    private mutating func take(_ info: PayloadValue) throws(LinkspanError) -> [UInt8] {
        if let size = info["max_payload"]?.int, size > 0 { self.session.largestContent = size }
        guard let start = self.session.start else { return [] }
        if let nodes = info["connect_urls"]?.elements {
            self.session.info.endpoints = nodes.prefix(256).compactMap(\.string).compactMap {
                try? ConnectionURL("\(start.url.scheme)://\($0)\(start.url.path)")
            }
        }
        guard self.session.inbox.isEmpty else { return [] }
        self.session.info.facts["server"] = "NATS \(ForeignText.line(info["version"]?.string ?? "of unknown version"))"
        self.session.info.sessionID = info["client_id"]?.int.map { "\($0)" }
        let id = "\(info["server_id"]?.string ?? "").\(info["client_id"]?.int ?? 0)"
        self.session.inbox = "\(self.inboxPrefix).\(id)."
        let connect = try self.connect(start.credentials, nonce: info["nonce"]?.string)
        return Array("CONNECT \(connect)\r\nSUB \(self.session.inbox)* 1\r\nPING\r\n".utf8)
    }

    /// The options of `CONNECT`, under their names.
    private struct Options: Encodable, Sendable {
        private var (lang, version, name, `protocol`) = ("swift", "1", "linkspan", 1)
        private var (verbose, pedantic, headers, no_responders) = (false, false, true, true)
        var (user, pass, auth_token, jwt): (String?, String?, String?, String?)
        var (nkey, sig): (String?, String?)

        init(_ given: PayloadValue?) {
            func field(_ names: String...) -> String? { names.compactMap { given?[$0]?.string }.first }
            (self.user, self.pass) = (field("user", "username"), field("pass", "password"))
            (self.auth_token, self.jwt) = (field("token", "auth_token"), field("jwt"))
        }
    }

    private func connect(_ credentials: Credentials, nonce: String?) throws(LinkspanError) -> String {
        var options = Options(credentials.auth?[0])
        if let signer = self.signer, let nonce {
            do {
                options.sig = Data(try signer.sign(Array(nonce.utf8))).base64EncodedString()
                    .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
                options.nkey = signer.publicKey
            } catch {
                throw LinkspanError(.credentialsUnavailable, "the server's nonce could not be signed", cause: error)
            }
        }
        return String(decoding: try Payload(options).elements, as: UTF8.self)
    }

    /// The error that the server reports, if the link goes on.
    ///
    /// - Throws: that error, if it ends the link.
    private static func refusal(_ text: String) throws(LinkspanError) -> LinkspanError {
        let meanings: [(String, LinkspanError.Code)] = [
            ("permissions violation", .messageRefused), ("invalid subject", .messageRefused),
            ("maximum subscriptions", .messageRefused), ("timeout", .serverUnavailable),
            ("authorization", .credentialsRefused), ("authentication", .credentialsRefused),
            ("maximum payload", .messageTooLarge), ("stale connection", .heartbeatMissed),
            ("connections exceeded", .serverUnavailable), ("slow consumer", .serverUnavailable),
            ("server shutdown", .serverUnavailable),
        ]
        let code = meanings.first { text.lowercased().contains($0.0) }?.1 ?? .protocolViolation
        let error = LinkspanError(code, "the NATS server says: \(ForeignText.line(text))")
        guard code == .messageRefused else { throw error }
        return error
    }
}

// MARK: - Subscriptions

extension NATSMessageProtocol {
    /// True.
    public var subscribes: Bool { true }

    /// True.
    public var sendsKeys: Bool { true }

    /// Subscribes to a subject, or to all that wildcards stand for.
    public mutating func subscribe(to event: String) throws(LinkspanError) -> [WebSocketMessage] {
        try Self.check(event, isForSending: false)
        let group = self.queueGroup.map { " \($0)" } ?? ""
        return [Self.line("SUB \(event)\(group) \(self.session.subscriptions.add(event))")]
    }

    /// Ends a subscription.
    public mutating func unsubscribe(from event: String) -> [WebSocketMessage] {
        self.session.subscriptions.remove(event).map { [Self.line("UNSUB \($0)")] } ?? []
    }

    /// The most bytes of a subject: a server takes lines of 4,096 by default, which have a subject for replies, too.
    private static let longestSubject = 3_072

    private static func check(_ subject: String, isForSending: Bool) throws(LinkspanError) {
        let words = subject.split(separator: ".", omittingEmptySubsequences: false)
        let isMalformed =
            words.contains(where: \.isEmpty) || subject.utf8.contains { $0 <= 0x20 || $0 == 0x7F }
            || subject.utf8.count > Self.longestSubject
        guard !isMalformed, !isForSending || !words.contains("*") && !words.contains(">") else {
            throw LinkspanError(
                .encodingFailed,
                "'\(ForeignText.line(subject))' is no NATS subject\(isForSending ? " to send to" : "")")
        }
    }
}

// MARK: - Messages

extension NATSMessageProtocol {
    /// Appends a publication, a request or the reply to a question.
    public mutating func encode(
        _ envelope: consuming Envelope, to buffer: inout [UInt8]
    ) throws(LinkspanError) -> EncodedKind {
        switch consume envelope {
        case .event(let name, let payload, let id):
            try self.publish(name, payload, reply: id.map { "\(self.session.inbox)\($0)" }, [:], to: &buffer)
            if let id { self.session.asked.note(id, name) }
        case .reply(let id, let payload):
            try self.publish(try self.session.questions.take(id), payload, reply: nil, [:], to: &buffer)
        }
        return .selfContained
    }

    /// Appends a publication that JetStream acknowledges.
    public mutating func encode(
        delivery: EncodedDelivery, to buffer: inout [UInt8]
    ) throws(LinkspanError) -> EncodedKind {
        let headers = delivery.key.map { ["Nats-Msg-Id": $0] } ?? [:]
        let inbox = "\(self.session.inbox)\(Self.deliveryMark)\(delivery.id)"
        try self.publish(delivery.event, delivery.payload, reply: inbox, headers, to: &buffer)
        self.session.asked.note(delivery.id, delivery.event)
        return .selfContained
    }

    /// Stands before the number of a delivery in the subject for its acknowledgement.
    private static let deliveryMark = "d"

    private func publish(
        _ subject: String, _ payload: Payload, reply: String?, _ headers: [String: String], to buffer: inout [UInt8]
    ) throws(LinkspanError) {
        try Self.check(subject, isForSending: true)
        if reply != nil, let refusal = self.session.refusal { throw refusal }
        let (content, count) = try BrokerPayload.encode(payload)
        var fields = headers
        if let count { fields[NATSOperation.Message.countHeader] = "\(count)" }
        let head = fields.isEmpty ? "" : "NATS/1.0\r\n\(fields.map { "\($0): \($1)\r\n" }.sorted().joined())\r\n"
        guard !fields.values.contains(where: { $0.isEmpty || $0.utf8.contains { $0 == 13 || $0 == 10 } }) else {
            throw LinkspanError(.encodingFailed, "the key of a delivery is empty or has a line break")
        }
        let size = content.count + head.utf8.count
        guard size <= self.session.largestContent else {
            throw LinkspanError(
                .messageTooLarge,
                "'\(subject)' has \(size) bytes; the NATS server takes \(self.session.largestContent)")
        }
        let sizes = head.isEmpty ? "\(size)" : "\(head.utf8.count) \(size)"
        let words = [head.isEmpty ? "PUB" : "HPUB", subject, reply, sizes].compactMap(\.self)
        buffer += "\(words.joined(separator: " "))\r\n\(head)".utf8
        buffer += content
        buffer += "\r\n".utf8
    }

    /// Takes a part of the stream in a text message.
    public mutating func decode(text: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        try self.decode(binary: text)
    }

    /// Takes a part of the stream.
    public mutating func decode(binary: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        self.session.feed.append(binary)
        var outcome = Outcome()
        while let operation = try NATSOperation.next(&self.session.feed) {
            switch operation {
            case .info(let info): outcome.answers += try self.take(info)
            case .ping: outcome.answers += "PONG\r\n".utf8
            case .pong where !self.session.inbox.isEmpty: self.session.isReady = true
            case .message(let message) where self.session.isReady: self.take(message, &outcome)
            case .pong, .message: throw LinkspanError(.protocolViolation, "NATS: an operation came before it was due")
            case .ok: ()
            case .error(let text): try self.take(error: text, &outcome)
            }
            try outcome.check()
        }
        return outcome.decoded
    }

    /// Takes a refusal of the server, and fails what it names.
    private mutating func take(error text: String, _ outcome: inout Outcome) throws(LinkspanError) {
        let error = try Self.refusal(text)
        // Such as: Permissions Violation for Publish to "subject"
        let parts = text.split(separator: "\"")
        let (call, subject) = (parts.first ?? "", parts.dropFirst().first)
        if call.hasSuffix("Subscription to "), subject == "\(self.session.inbox)*" { self.session.refusal = error }
        outcome.fail(call.hasSuffix("Publish to ") ? self.session.asked.take { $0[...] == subject } : [], error)
    }

    private mutating func take(_ message: NATSOperation.Message, _ outcome: inout Outcome) {
        let payload = BrokerPayload.decode(message.content, isList: message.isList)
        if message.sid == 1 {
            let number = message.subject.dropFirst(self.session.inbox.count)
            let isDelivery = number.hasPrefix(Self.deliveryMark)
            if isDelivery, !Self.isFromServer(message, payload) { return }
            guard let id = UInt64(isDelivery ? number.dropFirst() : number) else { return }
            return outcome.end(id, payload, error: Self.failure(message, payload, isDelivery: isDelivery))
        }
        // Otherwise it is for a subscription that has ended meanwhile.
        guard let event = self.session.subscriptions[message.sid] else { return }
        outcome.add(event, payload, from: message.subject, id: message.reply.map { self.session.questions.add($0) })
    }

    /// Whether a reply to a delivery comes from the server; a listener gets the delivery, too, and may reply to it.
    private static func isFromServer(_ message: NATSOperation.Message, _ payload: Payload) -> Bool {
        message.status == 503 || payload[0]?["stream"]?.string != nil || payload[0]?["error"]?["code"]?.int != nil
    }

    /// The failure that a reply means; nil for a success.
    private static func failure(
        _ message: NATSOperation.Message, _ payload: Payload, isDelivery: Bool
    ) -> LinkspanError? {
        if message.status == 503 {
            let who = isDelivery ? "no stream of JetStream takes the subject now" : "nobody listens to the subject"
            return LinkspanError(.serverUnavailable, who, certainty: .notSent)
        }
        guard isDelivery, let error = payload[0]?["error"] else { return nil }
        let text = ForeignText.line(error["description"]?.string ?? "an error without a description")
        let isTemporary = (error["code"]?.int ?? 500) >= 500
        return LinkspanError(
            isTemporary ? .serverUnavailable : .messageRefused, "JetStream says: \(text)", details: payload)
    }
}

extension MessageProtocol where Self == NATSMessageProtocol {
    /// NATS with the defaults.
    public static var nats: Self { Self() }
}
