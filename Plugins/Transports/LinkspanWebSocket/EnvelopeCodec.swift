public import Linkspan
public import LinkspanNetwork

/// A message over a raw WebSocket, which has neither event names nor replies of its own.
public enum Envelope: Sendable {
    /// An event.
    case event(name: String, payload: Payload, id: UInt64?)
    /// The reply to the event with this id.
    case reply(id: UInt64, payload: Payload)
    /// The client's credentials: its first message, when they have an auth payload.
    case auth(Payload)
}

/// Turns envelopes into WebSocket messages and back.
///
/// An envelope is one message, text or binary, followed by one binary message for each attachment. Write a codec for a
/// server with its own format; the article <doc:MessageFormat> has an example.
///
/// Compared by content, so that holders of one connection see that they agree: a structure needs to do nothing for
/// that.
public protocol EnvelopeCodec: Sendable, Hashable {
    /// The name, for people.
    var name: String { get }

    /// The sub-protocols to offer, the preferred first; none by default.
    var subprotocols: [String] { get }

    /// Appends an envelope's message to `buffer`; its attachments are sent behind it by the caller.
    ///
    /// - Returns: whether the message is text or binary. Text must be UTF-8.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `encodingFailed` when the format cannot express the envelope.
    func encode(_ envelope: consuming Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind

    /// Called when a session begins, on each new link: behind the credentials, and before everything else.
    ///
    /// - Returns: what is sent first, such as subscriptions; nothing by default.
    /// - Throws: ``/Linkspan/LinkspanError``; the link then ends with it.
    func sessionBegan() throws(LinkspanError) -> [WebSocketMessage]

    /// Reads a text message.
    ///
    /// - Throws: anything wrong with it, as ``/Linkspan/LinkspanError`` with code `protocolViolation`; the link then ends.
    func decode(text: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope

    /// Reads a binary message that is not an attachment.
    ///
    /// - Throws: anything wrong with it, as ``/Linkspan/LinkspanError`` with code `protocolViolation`; the link then ends.
    func decode(binary: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope

    /// Whether the transport answers pings of the server; true by default.
    ///
    /// Otherwise the app answers those that ``decode(ping:)`` reads, by events of ``EncodedKind/pong``.
    var answersPings: Bool { get }

    /// Reads a ping of the server.
    ///
    /// - Returns: the envelopes that it stands for, without attachments; none by default.
    func decode(ping: ArraySlice<UInt8>) -> [Envelope]

    /// Reads a pong of the server, other than those that answer ``WebSocketConfiguration/keepAlive``.
    ///
    /// - Returns: the envelopes that it stands for, without attachments; none by default.
    func decode(pong: ArraySlice<UInt8>) -> [Envelope]
}

extension EnvelopeCodec {
    /// None.
    public var subprotocols: [String] { [] }

    /// Nothing.
    public func sessionBegan() throws(LinkspanError) -> [WebSocketMessage] { [] }

    /// True.
    public var answersPings: Bool { true }

    /// None.
    public func decode(ping: ArraySlice<UInt8>) -> [Envelope] { [] }

    /// None.
    public func decode(pong: ArraySlice<UInt8>) -> [Envelope] { [] }
}

/// The form of an encoded envelope.
public enum EncodedKind: Sendable, Hashable {
    /// A text message, and the payload's attachments behind it.
    case text
    /// A binary message, and the payload's attachments behind it.
    case binary
    /// A binary message that holds the attachments already.
    case selfContained
    /// A ping (RFC 6455 section 5.5.2), of at most 125 bytes and without attachments.
    case ping
    /// A pong (RFC 6455 section 5.5.3), of at most 125 bytes and without attachments.
    case pong
}

/// The content of a message of the server: any number of envelopes, and the answers to it.
public struct DecodedEnvelope: Sendable {
    // One envelope is taken out without a copy, and needs no memory; hardly any message brings something else.
    enum Content: Sendable {
        case one(Envelope, attachmentCount: Int)
        indirect case several([Envelope], answers: [WebSocketMessage])
    }

    let content: Content

    /// One envelope, its attachments still missing.
    ///
    /// - Parameters:
    ///   - envelope: the envelope.
    ///   - attachmentCount: how many binary messages with its attachments follow: at most
    ///     ``JSONEnvelopeCodec/maximumAttachments``, whatever the format. Otherwise the link ends with `protocolViolation`.
    public init(_ envelope: consuming Envelope, attachmentCount: Int = 0) {
        self.content = .one(envelope, attachmentCount: attachmentCount)
    }

    /// Any number of envelopes, in order, and the messages that are sent to the server at once, such as a pong.
    public init(_ envelopes: [Envelope], answers: [WebSocketMessage] = []) {
        self.content = .several(envelopes, answers: answers)
    }

    /// The envelopes.
    package var envelopes: [Envelope] {
        switch self.content {
        case .one(let envelope, _): [envelope]
        case .several(let envelopes, _): envelopes
        }
    }

    /// Messages that are sent to the server at once, such as a pong.
    package var answers: [WebSocketMessage] {
        if case .several(_, let answers) = self.content { answers } else { [] }
    }
}
