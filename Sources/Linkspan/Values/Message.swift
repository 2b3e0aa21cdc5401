/// A message from the server.
public struct Message: Sendable {
    private let inbound: InboundMessage
    private let replier: Replier?

    /// The name of the event.
    public var event: String { self.inbound.event }

    /// Its arguments, undecoded.
    public var payload: Payload { self.inbound.payload }

    /// The size of the message while it is held.
    var byteCount: Int { self.event.utf8.count + self.payload.byteCount }

    /// A copy of the message in memory of its own: for messages that you keep.
    ///
    /// A message that has just come shares memory with all that came in the same read, up to 256 KiB, and keeps all of it
    /// alive. Messages in a sequence, those that waited for their first listener, and replies have memory of their own already.
    public func detached() -> Message {
        Message(InboundMessage(event: self.event, payload: self.payload.detached()), replier: self.replier)
    }

    /// Whether the server waits for a reply.
    public var wantsReply: Bool { self.replier != nil }

    /// Reads an argument as a value; see ``Payload/decode(_:at:coder:)``.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, at index: Int = 0, coder: PayloadCoder = .standard
    ) throws(LinkspanError) -> Value {
        try self.payload.decode(type, at: index, coder: coder)
    }

    /// Answers the message.
    ///
    /// Only the first answer counts, and only while the link it came over is up.
    ///
    /// While the link is full, replies wait, as many as ``ConnectionOptions/buffer`` has room for, apart from commands.
    /// A reply beyond that, and one that the transport does not take, for instance because it is too large, is logged
    /// as a warning, and another one may be given.
    ///
    /// - Parameter payload: the arguments of the answer.
    public func reply(payload: Payload) { self.replier?.reply(payload) }

    /// Answers the message with values; see ``reply(payload:)``.
    ///
    /// - Throws: ``LinkspanError`` with code `encodingFailed`.
    public func reply<each Argument: Encodable>(_ arguments: repeat each Argument) throws(LinkspanError) {
        self.reply(payload: try Payload(repeat each arguments))
    }
}

extension Message {
    /// Makes a message, for connections of your own, such as fakes.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - payload: its arguments.
    ///   - onReply: set when the server waits for a reply; called with it, at most once.
    public init(event: String, payload: Payload, onReply: (@Sendable (Payload) -> Void)? = nil) {
        self.init(InboundMessage(event: event, payload: payload), replier: onReply.map { Replier(once: $0) })
    }

    init(_ inbound: InboundMessage, replier: Replier?) {
        self.init(inbound: inbound, replier: replier)
    }
}
