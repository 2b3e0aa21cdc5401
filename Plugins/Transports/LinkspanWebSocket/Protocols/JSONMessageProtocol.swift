public import Linkspan
public import LinkspanNetwork

/// The default envelope: one JSON object in a text message.
///
/// ```text
/// {"event":"say","data":[{"text":"hello"}],"id":7}   an event; `id` asks for a reply
/// {"ack":7,"data":[{"ok":true}]}                     the reply to it
/// {"auth":{"name":"ann"}}                            first, with an auth payload
/// {"event":"photo","data":[{"_placeholder":true,"num":0}],"attachments":1}
///                                                    then one binary message
/// ```
///
/// `data` may be missing when there are no arguments. Unknown members are ignored.
public struct JSONMessageProtocol: MessageProtocol {
    /// The most attachments of one envelope, as in Socket.IO.
    public static let maximumAttachments = 10

    /// `json`.
    public let name = "json"

    /// Makes the protocol.
    public init() {}

    /// Appends the object.
    public func encode(_ envelope: consuming Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        switch consume envelope {
        case .event(let name, let payload, let id):
            try Self.check(payload)
            buffer.append(contentsOf: Self.eventStart)
            buffer.append(contentsOf: try Payload(name).elements)
            Self.append(payload, to: &buffer)
            if let id {
                buffer.append(contentsOf: Self.idStart)
                buffer.append(contentsOf: String(id).utf8)
            }
        case .reply(let id, let payload):
            try Self.check(payload)
            buffer.append(contentsOf: Self.ackStart)
            buffer.append(contentsOf: String(id).utf8)
            Self.append(payload, to: &buffer)
        }
        buffer.append(UInt8(ascii: "}"))
        return .text
    }

    /// The first message, when the credentials have an auth payload.
    public func begin(_ start: SessionStart) -> [WebSocketMessage] {
        guard let auth = start.credentials.auth else { return [] }
        let value = auth.isEmpty ? Array("null".utf8)[...] : auth.elements
        return [.text((Self.authStart + value + [UInt8(ascii: "}")])[...])]
    }

    /// Reads the object.
    public func decode(text: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        let envelope: Payload
        do throws(JSONScanError) {
            envelope = try Payload(scanning: text)
        } catch {
            throw LinkspanError(.protocolViolation, error.sentence(about: "the envelope"), cause: error)
        }
        let object = envelope[0]
        let payload = try Self.payload(of: object?["data"], in: envelope)
        let count = try Self.attachments(object?["attachments"])
        if let event = object?["event"]?.string {
            let id = try Self.id(object?["id"])
            return DecodedEnvelope(.event(name: event, payload: payload, id: id), attachmentCount: count)
        }
        guard let id = try Self.id(object?["ack"]) else {
            throw LinkspanError(.protocolViolation, "the envelope is neither an event nor an ack")
        }
        return DecodedEnvelope(.reply(id: id, payload: payload), attachmentCount: count)
    }

    /// Refuses: every binary message of this format is an attachment.
    public func decode(binary: consuming ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        throw LinkspanError(.protocolViolation, "a binary message where no attachment is expected")
    }

    private static let eventStart = Array(#"{"event":"#.utf8)
    private static let ackStart = Array(#"{"ack":"#.utf8)
    private static let authStart = Array(#"{"auth":"#.utf8)
    private static let idStart = Array(#","id":"#.utf8)
    private static let dataStart = Array(#","data":["#.utf8)

    private static func append(_ payload: Payload, to buffer: inout [UInt8]) {
        buffer.append(contentsOf: Self.dataStart)
        buffer.append(contentsOf: payload.elements)
        buffer.append(UInt8(ascii: "]"))
        guard !payload.attachments.isEmpty else { return }
        buffer.append(contentsOf: #","attachments":\#(payload.attachments.count)"#.utf8)
    }

    private static func check(_ payload: Payload) throws(LinkspanError) {
        guard payload.attachments.count > Self.maximumAttachments else { return }
        throw LinkspanError(.messageTooLarge, "a message has more than \(Self.maximumAttachments) attachments")
    }

    /// The arguments, from the member `data` of an envelope.
    private static func payload(of data: PayloadValue?, in envelope: Payload) throws(LinkspanError) -> Payload {
        guard let data else { return .empty }
        guard data.text.first == UInt8(ascii: "[") else {
            throw LinkspanError(.protocolViolation, "the envelope's data is not an array")
        }
        let inside = data.text.dropFirst().dropLast()
        guard inside.contains(where: { $0 > 0x20 }) else { return .empty }
        return Payload(trustedElements: envelope.elements.part(inside.indices))
    }

    private static func attachments(_ value: PayloadValue?) throws(LinkspanError) -> Int {
        guard let value else { return 0 }
        let most = Self.maximumAttachments
        guard let count = value.int, count >= 0 else {
            throw LinkspanError(.protocolViolation, "the envelope's attachments are not a number from 0 to \(most)")
        }
        guard count <= most else {
            throw LinkspanError(
                .protocolViolation, "the envelope announces more attachments than the \(most) that are accepted here")
        }
        return count
    }

    private static func id(_ value: PayloadValue?) throws(LinkspanError) -> UInt64? {
        guard let value, !value.isNull else { return nil }
        guard let id = value.int.flatMap(UInt64.init(exactly:)) else {
            throw LinkspanError(.protocolViolation, "the envelope's id is not a whole number")
        }
        return id
    }
}

extension MessageProtocol where Self == JSONMessageProtocol {
    /// The default envelope.
    public static var json: Self { Self() }
}
