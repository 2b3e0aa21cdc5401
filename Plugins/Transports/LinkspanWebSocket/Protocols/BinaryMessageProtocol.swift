public import Linkspan

/// No envelope at all: every binary message is the one blob of an event with a fixed name, both ways.
///
/// For servers that speak a binary format of their own. Replies cannot be recognised, so requests are refused.
public struct BinaryMessageProtocol: MessageProtocol {
    /// `binary`.
    public var name: String { "binary" }
    /// The name under which messages arrive, and with which they are sent.
    public let event: String

    /// Makes the protocol.
    public init(event: String = "binary") { self.event = event }

    /// Sends the payload's only blob as it is.
    public func encode(_ envelope: consuming Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        _ = try self.blob(of: envelope)
        return .attachment
    }

    /// The only blob of the payload of an event.
    func blob(of envelope: consuming Envelope) throws(LinkspanError) -> ArraySlice<UInt8> {
        guard case .event(_, let payload, nil) = consume envelope, payload.attachments.count == 1 else {
            throw LinkspanError(
                .encodingFailed, "protocol '\(self.name)' sends only events with one blob and without a reply")
        }
        return payload.attachments[0]
    }

    /// Refuses text.
    public func decode(text: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        throw LinkspanError(.protocolViolation, "a text message where only binary ones are expected")
    }

    /// Wraps the message as a blob.
    public func decode(binary: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        DecodedEnvelope(.event(name: self.event, payload: Self.payload(binary), id: nil))
    }

    /// Wraps bytes as the only blob of a payload.
    static func payload(_ bytes: consuming ArraySlice<UInt8>) -> Payload {
        Payload(trustedElements: Self.placeholder, attachments: [bytes])
    }

    private static let placeholder = Array(#"{"_placeholder":true,"num":0}"#.utf8)[...]
}

extension MessageProtocol where Self == BinaryMessageProtocol {
    /// No envelope: one blob a message.
    public static var binary: Self { Self() }
}
