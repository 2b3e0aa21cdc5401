public import Linkspan

/// No envelope at all: each frame is an event named after its kind, both ways.
///
/// `text` has one string; `binary`, `ping` and `pong` have one blob, the latter two of at most 125 bytes. For servers that
/// use text and binary messages side by side, or put a meaning into pings. Replies cannot be recognised, so requests are
/// refused.
public struct FrameMessageProtocol: MessageProtocol {
    /// `frames`.
    public let name = "frames"

    /// Whether the transport answers pings.
    public let answersPings: Bool

    /// Makes the protocol.
    public init(answersPings: Bool = true) { self.answersPings = answersPings }

    /// Appends the payload's only argument.
    public func encode(_ envelope: consuming Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        guard case .event(let name, _, _) = envelope else {
            throw LinkspanError(.encodingFailed, "protocol '\(self.name)' sends only events")
        }
        switch name {
        case "text": return try TextMessageProtocol().encode(envelope, to: &buffer)
        case "binary": return try BinaryMessageProtocol().encode(envelope, to: &buffer)
        case "ping", "pong":
            buffer += try BinaryMessageProtocol().blob(of: envelope)
            return name == "ping" ? .ping : .pong
        default:
            throw LinkspanError(.encodingFailed, "'\(name)' is no kind of frame: text, binary, ping and pong are")
        }
    }

    /// Wraps the message as a string.
    public func decode(text: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        try TextMessageProtocol().decode(text: text)
    }

    /// Wraps the message as a blob.
    public func decode(binary: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        try BinaryMessageProtocol().decode(binary: binary)
    }

    /// Wraps the ping as a blob.
    public func decode(ping: ArraySlice<UInt8>) -> [Envelope] { [Self.event("ping", ping)] }

    /// Wraps the pong as a blob.
    public func decode(pong: ArraySlice<UInt8>) -> [Envelope] { [Self.event("pong", pong)] }

    private static func event(_ name: String, _ payload: ArraySlice<UInt8>) -> Envelope {
        .event(name: name, payload: BinaryMessageProtocol.payload(payload), id: nil)
    }
}

extension MessageProtocol where Self == FrameMessageProtocol {
    /// No envelope: each frame is an event named after its kind.
    public static var frames: Self { Self() }
}
