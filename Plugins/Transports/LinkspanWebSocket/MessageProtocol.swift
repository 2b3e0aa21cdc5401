public import Linkspan
public import LinkspanNetwork

/// The language of a server over a raw WebSocket: what its messages mean, and how a session with it goes.
///
/// A value of it is configured once and copied for each link, so that what it keeps while it changes belongs to one session.
/// It does no input or output: the transport gives it what happens, and sends what it returns.
///
/// The simplest protocol translates single messages, by ``encode(_:to:)``, ``decode(text:)`` and ``decode(binary:)`` alone.
/// Others greet and wait for an answer, subscribe, acknowledge, send heartbeats or resume; everything for that has a default.
/// The article <doc:YourProtocol> builds one of each kind.
///
/// Compared by its configuration, so that holders of one connection see that they agree: a structure without a state needs
/// to do nothing for that.
public protocol MessageProtocol: Sendable, Hashable {
    // MARK: What is configured

    /// The name, for people.
    var name: String { get }

    /// The sub-protocols to offer, the preferred first; none by default.
    var subprotocols: [String] { get }

    /// Header fields of the upgrade request, besides those of the configuration and the credentials; none by default.
    var headers: [Credentials.Field] { get }

    // MARK: Messages

    /// Appends the message for an event or a reply to `buffer`.
    ///
    /// - Returns: the kind of the message. Text must be UTF-8.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `encodingFailed` when the format cannot express the envelope, or
    ///   `messageTooLarge`; the caller gets it, and the link stays up.
    mutating func encode(_ envelope: consuming Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind

    /// Appends the message for a delivery; by default that of a request.
    ///
    /// It is delivered when the server has replied to its id, and otherwise comes again under the same key.
    ///
    /// - Throws: as ``encode(_:to:)`` does.
    mutating func encode(
        delivery: EncodedDelivery, to buffer: inout [UInt8]
    ) throws(LinkspanError) -> EncodedKind

    /// Messages carry the idempotency keys of deliveries, so the connection makes a key for a delivery without one; false by
    /// default.
    var sendsKeys: Bool { get }

    /// Reads a text message.
    ///
    /// - Throws: ``/Linkspan/LinkspanError``; the link then ends with it. Of a message that cannot be read the code is
    ///   `protocolViolation`, `decodingFailed` or `encodingFailed`, which all end the link as a violation.
    mutating func decode(text: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope

    /// Reads a binary message that is not an attachment.
    ///
    /// - Throws: as ``decode(text:)`` does.
    mutating func decode(binary: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope

    /// Whether the transport answers pings of the server; true by default.
    ///
    /// Otherwise the app answers those that ``decode(ping:)`` reads, by events of ``EncodedKind/pong``.
    var answersPings: Bool { get }

    /// Reads a ping of the server.
    ///
    /// - Returns: the envelopes that it stands for, without attachments; none by default.
    mutating func decode(ping: ArraySlice<UInt8>) -> [Envelope]

    /// Reads a pong of the server, other than those that answer ``WebSocketConfiguration/keepAlive``.
    ///
    /// - Returns: the envelopes that it stands for, without attachments; none by default.
    mutating func decode(pong: ArraySlice<UInt8>) -> [Envelope]

    // MARK: The session

    /// Begins the session of a new link, right after the upgrade.
    ///
    /// By default nothing is sent, and credentials with an auth payload are refused.
    ///
    /// - Parameter start: the credentials, and what the former session has left.
    /// - Returns: what is sent first.
    /// - Throws: ``/Linkspan/LinkspanError``; the link then ends with it.
    mutating func begin(_ start: SessionStart) throws(LinkspanError) -> [WebSocketMessage]

    /// The state of the session, looked at after each call that may change it.
    ///
    /// Nil, as by default, for a protocol that is always ready and waits for nothing.
    var state: SessionState? { get }

    /// The server's information about the session, such as its name; empty by default.
    ///
    /// Asked for when the session has become ready, and the endpoints after each read, too.
    var info: LinkInfo { get }

    /// The text from which the next link's session goes on where this one ends; nil by default.
    ///
    /// Asked for after each read, so it must be at hand. A session that is not ready yet has the text that it began with.
    var resumption: Secret? { get }

    /// The deadline of ``state`` has passed.
    ///
    /// - Parameter time: the time since the session began.
    /// - Returns: the messages to send, such as a heartbeat, and events or replies for the app, as if they had just been received.
    /// - Throws: ``/Linkspan/LinkspanError`` when the server was silent for too long; the link then ends with it.
    mutating func deadlinePassed(at time: Duration) throws(LinkspanError) -> DecodedEnvelope

    /// The server sends an event only to clients that subscribed to it; false by default.
    var subscribes: Bool { get }

    /// An event has its first listener; all that have one are named when the session has become ready.
    ///
    /// - Returns: what is sent.
    /// - Throws: ``/Linkspan/LinkspanError`` when the server can have no such event; it is logged, and the link stays up.
    mutating func subscribe(to event: String) throws(LinkspanError) -> [WebSocketMessage]

    /// An event has lost its last listener.
    ///
    /// - Returns: what is sent.
    mutating func unsubscribe(from event: String) -> [WebSocketMessage]

    /// Shows the server renewed credentials.
    ///
    /// - Returns: what is sent; nil, as by default, when that needs a new link.
    /// - Throws: ``/Linkspan/LinkspanError``; the link then ends with it.
    mutating func renew(_ credentials: Credentials) throws(LinkspanError) -> [WebSocketMessage]?

    /// Ends the session, because the app closes the link.
    ///
    /// - Returns: what is sent before the link is closed; nothing by default.
    mutating func end() -> [WebSocketMessage]
}

extension MessageProtocol {
    /// None.
    public var subprotocols: [String] { [] }

    /// None.
    public var headers: [Credentials.Field] { [] }

    /// Appends the message of a request.
    public mutating func encode(
        delivery: EncodedDelivery, to buffer: inout [UInt8]
    ) throws(LinkspanError) -> EncodedKind {
        try self.encode(.event(name: delivery.event, payload: delivery.payload, id: delivery.id), to: &buffer)
    }

    /// False.
    public var sendsKeys: Bool { false }

    /// True.
    public var answersPings: Bool { true }

    /// None.
    public func decode(ping: ArraySlice<UInt8>) -> [Envelope] { [] }

    /// None.
    public func decode(pong: ArraySlice<UInt8>) -> [Envelope] { [] }

    /// Nothing; an auth payload is refused with code `invalidConfiguration`, which ends the attempts.
    public func begin(_ start: SessionStart) throws(LinkspanError) -> [WebSocketMessage] {
        guard start.credentials.auth == nil else {
            throw LinkspanError(
                .invalidConfiguration,
                "protocol '\(self.name)' has no message for an auth payload; give the credentials as header fields")
        }
        return []
    }

    /// Nil.
    public var state: SessionState? { nil }

    /// Nothing.
    public var info: LinkInfo { LinkInfo() }

    /// Nil.
    public var resumption: Secret? { nil }

    /// Nothing.
    public func deadlinePassed(at time: Duration) throws(LinkspanError) -> DecodedEnvelope { DecodedEnvelope() }

    /// False.
    public var subscribes: Bool { false }

    /// Nothing.
    public func subscribe(to event: String) throws(LinkspanError) -> [WebSocketMessage] { [] }

    /// Nothing.
    public func unsubscribe(from event: String) -> [WebSocketMessage] { [] }

    /// Nil.
    public func renew(_ credentials: Credentials) throws(LinkspanError) -> [WebSocketMessage]? { nil }

    /// Nothing.
    public func end() -> [WebSocketMessage] { [] }
}

/// The beginning of a session over a new link.
public struct SessionStart: Sendable {
    /// The credentials of this attempt.
    public var credentials: Credentials
    /// The text with which the former session ended, ``MessageProtocol/resumption``; nil for a first session.
    public var resumption: Secret?
    /// The sub-protocol that the server has chosen; nil for none.
    public var subprotocol: String?
    /// The URL of the link.
    public var url: ConnectionURL
    /// The most bytes of a message that the link takes, ``WebSocketConfiguration/maximumMessageBytes`` (default 16 MiB).
    public var maximumMessageBytes: Int

    /// Describes a beginning.
    public init(
        credentials: Credentials = Credentials(), resumption: Secret? = nil, subprotocol: String? = nil,
        url: ConnectionURL, maximumMessageBytes: Int = 16 << 20
    ) {
        self.credentials = credentials
        self.resumption = resumption
        self.subprotocol = subprotocol
        self.url = url
        self.maximumMessageBytes = maximumMessageBytes
    }
}

/// The state of a session: whether it is accepted, whether it has room, and its next deadline.
public struct SessionState: Sendable, Hashable {
    /// Whether the server has accepted the session, so that the link counts as open (default true).
    public var isReady: Bool
    /// Whether nothing more may be sent before the server has acknowledged something (default false).
    public var isFull: Bool
    /// The next call of ``MessageProtocol/deadlinePassed(at:)``, counted from the beginning of the session; nil for none.
    ///
    /// Zero calls it as soon as possible: for a protocol that replies to the app without the server.
    public var deadline: Duration?

    /// Describes a state.
    public init(isReady: Bool = true, isFull: Bool = false, deadline: Duration? = nil) {
        self.isReady = isReady
        self.isFull = isFull
        self.deadline = deadline
    }
}
