public import Linkspan

/// No envelope at all: every text message is the one string of an event with a fixed name, both ways.
///
/// For servers that speak a text format of their own. Replies cannot be recognised, so requests are refused.
public struct TextMessageProtocol: MessageProtocol {
    /// `text`.
    public var name: String { "text" }
    /// The name under which messages arrive, and with which they are sent.
    public let event: String

    /// Makes the protocol.
    public init(event: String = "text") { self.event = event }

    /// Appends the payload's only argument, a string.
    public func encode(_ envelope: consuming Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        guard case .event(_, let payload, nil) = consume envelope, payload.attachments.isEmpty,
            let text = payload[0]?.string, payload[1] == nil
        else {
            throw LinkspanError(
                .encodingFailed, "protocol '\(self.name)' sends only events with one string and without a reply")
        }
        buffer.append(contentsOf: text.utf8)
        return .text
    }

    /// Wraps the message as a string.
    public func decode(text: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        let payload = try Payload(String(decoding: text, as: UTF8.self))
        return DecodedEnvelope(.event(name: self.event, payload: payload, id: nil))
    }

    /// Refuses binary.
    public func decode(binary: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        throw LinkspanError(.protocolViolation, "a binary message where only texts are expected")
    }
}

extension MessageProtocol where Self == TextMessageProtocol {
    /// No envelope: one string a message.
    public static var text: Self { Self() }
}
