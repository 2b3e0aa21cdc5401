public import Linkspan
public import LinkspanNetwork

/// A message over a raw WebSocket, which has neither event names nor replies of its own.
public enum Envelope: Sendable {
    /// An event.
    case event(name: String, payload: Payload, id: UInt64?)
    /// The reply to the event with this id.
    case reply(id: UInt64, payload: Payload)
}

/// A delivery that is about to leave.
public struct EncodedDelivery: Sendable {
    /// The name of the event.
    public var event: String
    /// Its arguments.
    public var payload: Payload
    /// The id of the server's acknowledgement.
    public var id: UInt64
    /// The idempotency key; nil when the connection has none.
    public var key: String?
    /// True for a repetition: an earlier attempt may have reached the server.
    public var isRepeated: Bool

    /// Describes a delivery.
    public init(event: String, payload: Payload, id: UInt64, key: String? = nil, isRepeated: Bool = false) {
        self.event = event
        self.payload = payload
        self.id = id
        self.key = key
        self.isRepeated = isRepeated
    }
}

/// The kind of an encoded message.
public enum EncodedKind: Sendable, Hashable {
    /// A text message, and the payload's attachments behind it.
    case text
    /// A binary message, and the payload's attachments behind it.
    case binary
    /// A binary message that holds the attachments already.
    case selfContained
    /// The payload's first attachment as a binary message, and nothing else.
    case attachment
    /// No message: what is to be sent is on its way already.
    case nothing
    /// A ping (RFC 6455 section 5.5.2), of at most 125 bytes and without attachments.
    case ping
    /// A pong (RFC 6455 section 5.5.3), of at most 125 bytes and without attachments.
    case pong
}

/// The result of reading a message of the server, or of a passed deadline: envelopes for the app, messages to send, and
/// failures.
public struct DecodedEnvelope: Sendable {
    /// A refusal by the server that leaves the link up.
    public struct Failure: Sendable {
        /// The id of the request or delivery that has failed; nil for something else, which is logged.
        public var id: UInt64?
        /// The reason.
        ///
        /// A delivery that fails with code `serverUnavailable` is sent again later.
        public var error: LinkspanError

        /// Describes a failure.
        public init(id: UInt64? = nil, _ error: LinkspanError) {
            self.id = id
            self.error = error
        }
    }

    // One envelope is taken out without a copy, and needs no memory; hardly any message brings something else.
    enum Content: Sendable {
        case one(Envelope, attachmentCount: Int)
        indirect case several([Envelope], answers: [WebSocketMessage], failures: [Failure])
    }

    let content: Content

    /// One envelope, its attachments still missing.
    ///
    /// - Parameters:
    ///   - envelope: the envelope.
    ///   - attachmentCount: how many binary messages with its attachments follow: at most
    ///     ``JSONMessageProtocol/maximumAttachments``, whatever the format. Otherwise the link ends with `protocolViolation`.
    public init(_ envelope: consuming Envelope, attachmentCount: Int = 0) {
        self.content = .one(envelope, attachmentCount: attachmentCount)
    }

    /// Any number of envelopes, in order, the messages that are sent to the server at once, such as a pong, and failures.
    public init(_ envelopes: [Envelope] = [], answers: [WebSocketMessage] = [], failures: [Failure] = []) {
        self.content = .several(envelopes, answers: answers, failures: failures)
    }

    /// The envelopes, in order.
    public var envelopes: [Envelope] {
        switch self.content {
        case .one(let envelope, _): [envelope]
        case .several(let envelopes, _, _): envelopes
        }
    }

    /// Messages that are sent to the server at once, such as a pong.
    public var answers: [WebSocketMessage] {
        if case .several(_, let answers, _) = self.content { answers } else { [] }
    }

    /// Refusals by the server.
    public var failures: [Failure] {
        if case .several(_, _, let failures) = self.content { failures } else { [] }
    }
}
