internal import Linkspan

/// A Socket.IO packet's text, checked and taken apart into offsets.
struct SocketIOBody: Sendable, Hashable {
    /// The kind of the JSON; offsets count from the start of the text.
    private enum Content: Sendable, Hashable {
        case nothing
        /// An object, or of a refusal any value.
        case value(Range<Int>)
        /// An array: where its first element stands, and the elements that are handed on.
        case array(first: Range<Int>, elements: Range<Int>)
    }

    /// The part before the JSON.
    let header: SocketIOHeader
    private let content: Content

    /// Checks a packet's text.
    @inline(__always)
    init(_ text: UnsafeBufferPointer<UInt8>, maximumAttachments: Int) throws(SocketIOProtocolError) {
        self.header = try SocketIOHeader(text, maximumAttachments: maximumAttachments)
        let start = JSONScanner.skipSpace(text, from: self.header.payloadStart)
        guard self.header.payloadStart < text.count else {
            // `2` and `31` are packets without data to the reference. Attachments without data to hold them are not.
            guard self.header.attachments == 0 else {
                throw SocketIOProtocolError(.badAttachments, "attachments are announced for a packet without payload")
            }
            self.content = .nothing
            return
        }
        let end = try Self.check(text, from: start)
        self.content = try Self.content(text, start..<end, kind: self.header.kind)
        if self.header.attachments > 0 {
            guard PlaceholderCheck.passes(text, from: start, attachments: self.header.attachments) else {
                throw SocketIOProtocolError(.badAttachments, "a placeholder refers to no attachment")
            }
        }
    }

    /// The event without attachments that it is, as a part of its frame, and the frame up to the end of its name; nil when it
    /// is something else.
    func plainEvent(
        _ frame: ArraySlice<UInt8>, behind type: Int
    ) throws(SocketIOProtocolError) -> (message: InboundMessage, head: ArraySlice<UInt8>)? {
        guard case .array(let first, let elements) = self.content, self.header.attachments == 0,
            self.header.kind == .event
        else { return nil }
        let message = InboundMessage(
            event: try EventName.read(frame, first.lowerBound &+ type..<first.upperBound &+ type),
            payload: Payload(
                trustedElements: frame.arguments(elements.lowerBound &+ type..<elements.upperBound &+ type)),
            replyID: self.header.id)
        return (message, frame.prefix(first.upperBound &+ type))
    }

    /// Makes the packet.
    ///
    /// Nil when it means nothing: an event without even a name, which the reference drops too.
    func packet(
        _ text: ArraySlice<UInt8>, attachments: [ArraySlice<UInt8>]
    ) throws(SocketIOProtocolError) -> SocketIOPacket? {
        let namespace = text.part(self.header.namespace)
        switch self.header.kind {
        case .event:
            guard case .array(let first, let elements) = self.content else { return nil }
            let payload = Payload(trustedElements: text.arguments(elements), attachments: attachments)
            let name = try EventName.read(text, first)
            return .event(
                namespace: namespace, message: InboundMessage(event: name, payload: payload, replyID: self.header.id))
        case .acknowledgement:
            let payload = Payload(trustedElements: self.elements(text), attachments: attachments)
            return .ack(namespace: namespace, id: self.header.id, payload: payload)
        case .connect:
            return .connect(namespace: namespace, payload: Payload(trustedElements: self.elements(text)))
        case .connectError:
            return .connectError(namespace: namespace, payload: Payload(trustedElements: self.elements(text)))
        case .disconnect:
            return .disconnect(namespace: namespace)
        }
    }
}

extension SocketIOBody {
    private func elements(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        switch self.content {
        case .nothing: []
        case .value(let range): text.arguments(range)
        case .array(_, let elements): text.arguments(elements)
        }
    }

    /// Checks the JSON in one pass and returns its end.
    ///
    /// Only white space may follow.
    @inline(__always)
    private static func check(
        _ text: UnsafeBufferPointer<UInt8>, from start: Int
    ) throws(SocketIOProtocolError) -> Int {
        var scanner = JSONScanner()
        let problem: JSONScanError
        do throws(JSONScanError) {
            let end = try scanner.skipValue(text, from: start)
            let rest = JSONScanner.skipSpace(text, from: end)
            guard rest < text.count else { return end }
            problem = JSONScanError(.unexpectedByte, at: rest)
        } catch {
            problem = error
        }
        throw SocketIOProtocolError(.badJSON, problem.sentence(about: "a packet's payload"), cause: problem)
    }

    /// Checks the shape that the type wants (S05).
    @inline(__always)
    private static func content(
        _ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, kind: SocketIOCodecPacket.Kind
    ) throws(SocketIOProtocolError) -> Content {
        let first = text[range.lowerBound]
        switch kind {
        case .event:
            guard first == UInt8(ascii: "[") else { throw Self.badPayload("an event's payload is no array") }
            return try Self.event(text, range)
        case .acknowledgement:
            guard first == UInt8(ascii: "[") else { throw Self.badPayload("an acknowledgement is no array") }
            let elements = Self.trimmed(text, range.lowerBound &+ 1..<range.upperBound &- 1)
            return .array(first: 0..<0, elements: elements)
        case .connect:
            guard first == UInt8(ascii: "{") else { throw Self.badPayload("the answer to CONNECT is no object") }
            return .value(range)
        case .connectError:
            // The version decides which values are allowed, and the namespace knows it.
            return .value(range)
        case .disconnect:
            throw Self.badPayload("a DISCONNECT has a payload")
        }
    }

    /// Splits a checked array into the event's name and the arguments behind it.
    @inline(__always)
    private static func event(
        _ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>
    ) throws(SocketIOProtocolError) -> Content {
        let close = range.upperBound &- 1
        let start = JSONScanner.skipSpace(text, from: range.lowerBound &+ 1)
        var end = start
        switch text[start] {
        case UInt8(ascii: "\""):
            end = (try? JSONScanner.skipString(text, from: start)) ?? close
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            // The reference takes a number for a name, and its servers send any name: the digits are the
            // name.
            while text[end] != UInt8(ascii: ","), text[end] != UInt8(ascii: "]"), text[end] > 0x20 { end &+= 1 }
        default:
            throw Self.badPayload("an event's payload does not begin with a name")
        }
        var next = JSONScanner.skipSpace(text, from: end)
        if text[next] == UInt8(ascii: ",") { next &+= 1 }
        return .array(first: start..<end, elements: Self.trimmed(text, next..<close))
    }

    /// Leaves out the white space at both ends, so that no arguments are no bytes.
    @inline(__always)
    private static func trimmed(_ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Range<Int> {
        let start = min(JSONScanner.skipSpace(text, from: range.lowerBound), range.upperBound)
        var end = range.upperBound
        while end > start, text[end &- 1] <= 0x20 { end &-= 1 }
        return start..<end
    }

    private static func badPayload(_ why: String) -> SocketIOProtocolError { SocketIOProtocolError(.badPayload, why) }
}

extension ArraySlice<UInt8> {
    /// The part of a frame at these offsets.
    fileprivate func part(_ range: Range<Int>) -> ArraySlice<UInt8> {
        self[self.startIndex &+ range.lowerBound..<self.startIndex &+ range.upperBound]
    }

    /// The arguments at these offsets of a frame: a part of it, unless they are a small part of a large one.
    func arguments(_ range: Range<Int>) -> ArraySlice<UInt8> { self.part(range).detached(from: self.count) }
}
