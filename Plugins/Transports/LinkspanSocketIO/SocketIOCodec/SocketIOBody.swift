internal import Linkspan

/// A Socket.IO packet's text, checked and taken apart into offsets.
struct SocketIOBody: Sendable, Hashable {
    /// The kind of the JSON; offsets count from the start of the text.
    private enum Content: Sendable, Hashable {
        case nothing
        /// An object, or of a refusal any value.
        case value(Range<Int>)
        /// The elements of an acknowledgement's array.
        case array(Range<Int>)
        /// An event's name, its arguments, and the end of the first of these.
        case event(name: Range<Int>, arguments: Range<Int>, firstEnd: Int)
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
        self.content = try Self.content(text, from: start, kind: self.header.kind)
        if self.header.attachments > 0 {
            guard PlaceholderCheck.passes(text, from: start, attachments: self.header.attachments) else {
                throw SocketIOProtocolError(.badAttachments, "a placeholder refers to no attachment")
            }
        }
    }

    /// The event without attachments that it is, as a part of its frame; nil when it is something else.
    @inline(__always)
    func plainEvent(_ frame: ArraySlice<UInt8>, behind type: Int) throws(SocketIOProtocolError) -> InboundMessage? {
        guard case .event(let name, let arguments, let firstEnd) = self.content, self.header.attachments == 0 else {
            return nil
        }
        return InboundMessage(
            event: try EventName.read(frame, name.lowerBound &+ type..<name.upperBound &+ type),
            payload: arguments.isEmpty
                ? .empty
                : Payload(
                    trustedElements: frame.arguments(arguments.lowerBound &+ type..<arguments.upperBound &+ type),
                    firstCount: firstEnd &- arguments.lowerBound),
            replyID: self.header.id)
    }

    /// Makes the packet.
    ///
    /// Nil when it means nothing: an event without even a name, which the reference drops too.
    func packet(
        _ text: ArraySlice<UInt8>, attachments: [ArraySlice<UInt8>]
    ) throws(SocketIOProtocolError) -> SocketIOPacket? {
        let namespace = text.dropFirst(self.header.namespace.lowerBound).prefix(self.header.namespace.count)
        switch self.header.kind {
        case .event:
            guard case .event(let name, let arguments, _) = self.content else { return nil }
            let payload = Payload(trustedElements: text.arguments(arguments), attachments: attachments)
            let event = try EventName.read(text, name)
            return .event(
                namespace: namespace, message: InboundMessage(event: event, payload: payload, replyID: self.header.id))
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
        case .value(let range), .array(let range), .event(_, let range, _): text.arguments(range)
        }
    }

    /// Checks the JSON, and the shape that the type wants (S05).
    @inline(__always)
    private static func content(
        _ text: UnsafeBufferPointer<UInt8>, from start: Int, kind: SocketIOCodecPacket.Kind
    ) throws(SocketIOProtocolError) -> Content {
        switch kind {
        case .event: return try Self.event(text, from: start)
        case .acknowledgement:
            let range = try Self.value(text, from: start)
            guard text[start] == UInt8(ascii: "[") else { throw Self.badPayload("an acknowledgement is no array") }
            return .array(Self.trimmed(text, range.lowerBound &+ 1..<range.upperBound &- 1))
        case .connect:
            let range = try Self.value(text, from: start)
            guard text[start] == UInt8(ascii: "{") else { throw Self.badPayload("the answer to CONNECT is no object") }
            return .value(range)
        // The version decides which values are allowed, and the namespace knows it.
        case .connectError: return .value(try Self.value(text, from: start))
        case .disconnect:
            _ = try Self.value(text, from: start)
            throw Self.badPayload("a DISCONNECT has a payload")
        }
    }

    /// Checks the only value of a text; white space alone may follow.
    private static func value(
        _ text: UnsafeBufferPointer<UInt8>, from start: Int
    ) throws(SocketIOProtocolError) -> Range<Int> {
        var scanner = JSONScanner()
        do throws(JSONScanError) {
            let end = try scanner.skipValue(text, from: start)
            try Self.checkEnd(text, at: end)
            return start..<end
        } catch {
            throw Self.badJSON(error)
        }
    }

    private static func checkEnd(_ text: UnsafeBufferPointer<UInt8>, at end: Int) throws(JSONScanError) {
        let rest = JSONScanner.skipSpace(text, from: end)
        if rest < text.count { throw JSONScanError(.unexpectedByte, at: rest) }
    }

    /// Checks an event's array in one pass, which notes where the name and the arguments are.
    @inline(__always)
    private static func event(
        _ text: UnsafeBufferPointer<UInt8>, from start: Int
    ) throws(SocketIOProtocolError) -> Content {
        guard start < text.count, text[start] == UInt8(ascii: "[") else {
            _ = try Self.value(text, from: start)
            throw Self.badPayload("an event's payload is no array")
        }
        let name = JSONScanner.skipSpace(text, from: start &+ 1)
        guard name < text.count, text[name] != UInt8(ascii: "]") else {
            _ = try Self.value(text, from: start)
            throw Self.badPayload("an event's payload does not begin with a name")
        }
        // The array and the name are values, too.
        var scanner = JSONScanner(maximumValues: JSONScanner.maximumValues - 2)
        let (nameEnd, arguments, firstEnd): (Int, Range<Int>, Int)
        do throws(JSONScanError) {
            nameEnd =
                text[name] == UInt8(ascii: "\"")
                ? try JSONScanner.skipString(text, from: name) : try scanner.skipValue(text, from: name)
            (arguments, firstEnd) = try Self.arguments(text, behind: nameEnd, &scanner)
        } catch {
            throw Self.badJSON(error)
        }
        switch text[name] {
        // The reference takes a number for a name, and its servers send any name: the digits are the name.
        case UInt8(ascii: "\""), UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): ()
        default: throw Self.badPayload("an event's payload does not begin with a name")
        }
        return .event(name: name..<nameEnd, arguments: arguments, firstEnd: firstEnd)
    }

    /// Checks what stands behind an event's name, up to the end of the packet.
    @inline(__always)
    private static func arguments(
        _ text: UnsafeBufferPointer<UInt8>, behind name: Int, _ scanner: inout JSONScanner
    ) throws(JSONScanError) -> (arguments: Range<Int>, firstEnd: Int) {
        let next = JSONScanner.skipSpace(text, from: name)
        guard next < text.count else { throw JSONScanError(.truncated, at: next) }
        if text[next] == UInt8(ascii: "]") {
            try Self.checkEnd(text, at: next &+ 1)
            return (next..<next, next)
        }
        guard text[next] == UInt8(ascii: ",") else { throw JSONScanError(.unexpectedByte, at: next) }
        let first = JSONScanner.skipSpace(text, from: next &+ 1)
        let end = try scanner.skipValue(text, from: first, inArrays: 1)
        try Self.checkEnd(text, at: end)
        return (Self.trimmed(text, first..<end &- 1), scanner.firstEnd ?? first)
    }

    /// Leaves out the white space at both ends, so that no arguments are no bytes.
    @inline(__always)
    private static func trimmed(_ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Range<Int> {
        let start = min(JSONScanner.skipSpace(text, from: range.lowerBound), range.upperBound)
        var end = range.upperBound
        while end > start, text[end &- 1] <= 0x20 { end &-= 1 }
        return start..<end
    }

    private static func badJSON(_ problem: JSONScanError) -> SocketIOProtocolError {
        SocketIOProtocolError(.badJSON, problem.sentence(about: "a packet's payload"), cause: problem)
    }

    private static func badPayload(_ why: String) -> SocketIOProtocolError { SocketIOProtocolError(.badPayload, why) }
}

extension ArraySlice<UInt8> {
    /// The arguments at these offsets of a frame.
    func arguments(_ range: Range<Int>) -> ArraySlice<UInt8> {
        self.part(self.startIndex &+ range.lowerBound..<self.startIndex &+ range.upperBound)
    }
}
