/// A message as a link receives it.
public struct InboundMessage: Sendable {
    /// The name of the event.
    public var event: String
    /// Its arguments.
    public var payload: Payload
    /// The id for ``Link/reply(to:with:)`` when the peer wants a reply; nil otherwise.
    public var replyID: UInt64?

    /// Makes a message.
    public init(event: String, payload: Payload, replyID: UInt64? = nil) {
        self.event = event
        self.payload = payload
        self.replyID = replyID
    }
}

/// A message as a link sends it.
public struct OutboundMessage: Sendable {
    /// The name of the event.
    public var event: String
    /// Its arguments.
    public var payload: Payload
    /// Set when a reply is wanted.
    ///
    /// Unique on its connection and counted upwards from 0.
    public var requestID: UInt64?
    /// Whether it may be left out when the link is not ready for it at this moment.
    var isVolatile: Bool
    /// Whether it may be compressed, where client and server have agreed on compression.
    public var isCompressible: Bool

    /// Makes a message.
    package init(
        event: String, payload: Payload, requestID: UInt64? = nil, isVolatile: Bool = false,
        isCompressible: Bool = true
    ) {
        self.event = event
        self.payload = payload
        self.requestID = requestID
        self.isVolatile = isVolatile
        self.isCompressible = isCompressible
    }
}
