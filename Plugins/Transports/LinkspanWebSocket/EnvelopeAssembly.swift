package import Linkspan
package import LinkspanNetwork
internal import LinkspanRuntime
package import LinkspanWebSocketProtocol

/// Puts envelopes and the binary messages of their attachments together again.
package struct EnvelopeAssembly: Sendable {
    private struct Partial: Sendable {
        var envelope: Envelope
        var missing: Int
        var attachments: [ArraySlice<UInt8>] = []
        var bytes: Int
    }

    private let maximumBytes: Int
    private var partial: Boxed<Partial>?
    /// The events behind the one that was returned last, the next one last.
    private var pending: [LinkEvent] = []
    /// The codec's answers to the messages that were taken.
    private var answers: [WebSocketMessage] = []
    /// The number of parts that have come of messages with attachments.
    private(set) var parts = 0

    /// Whether attachments are due.
    package var isCollecting: Bool { self.partial != nil }

    package init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// The next event of a message that brought several.
    package mutating func popPending() -> LinkEvent? { self.pending.popLast() }

    package var hasAnswers: Bool { !self.answers.isEmpty }

    /// The messages to be sent because of those that were taken since the last call.
    package mutating func takeAnswers() -> [WebSocketMessage] {
        defer { self.answers = [] }
        return self.answers
    }

    /// Takes a message, when ``popPending()`` has no event any more.
    ///
    /// - Parameters:
    ///   - message: the message.
    ///   - codec: reads it; the same for all messages.
    /// - Returns: the first event that is complete with it.
    /// - Throws: code `protocolViolation`, whatever the codec's own code was; the link is to end.
    package mutating func receive(
        _ message: consuming WebSocketMessage, by codec: any EnvelopeCodec
    ) throws(LinkspanError) -> LinkEvent? {
        do throws(LinkspanError) {
            return try self.take(message, by: codec)
        } catch {
            guard error.code != .protocolViolation else { throw error }
            throw LinkspanError(.protocolViolation, "the codec cannot read a message", cause: error)
        }
    }

    /// Takes a ping or pong, when ``popPending()`` has no event any more.
    ///
    /// - Returns: the first event that the codec makes of it.
    /// - Throws: what ``receive(_:by:)`` throws.
    package mutating func receive(
        _ control: Opcode, payload: ArraySlice<UInt8>, by codec: any EnvelopeCodec
    ) throws(LinkspanError) -> LinkEvent? {
        let decoded = control == .ping ? codec.decode(ping: payload) : codec.decode(pong: payload)
        for envelope in decoded.reversed() { self.pending.append(try Self.event(envelope)) }
        return self.popPending()
    }

    private mutating func take(
        _ message: consuming WebSocketMessage, by codec: any EnvelopeCodec
    ) throws(LinkspanError) -> LinkEvent? {
        if self.isCollecting {
            guard case .binary(let data) = consume message else {
                self.partial = nil
                throw LinkspanError(.protocolViolation, "a text message where an attachment is expected")
            }
            return try self.complete(data)
        }
        switch consume message {
        case .text(let text):
            let count = text.count
            return try self.begin(try codec.decode(text: consume text), byteCount: count)
        case .binary(let data):
            let count = data.count
            return try self.begin(try codec.decode(binary: consume data), byteCount: count)
        }
    }

    private mutating func begin(
        _ decoded: consuming DecodedEnvelope, byteCount: Int
    ) throws(LinkspanError) -> LinkEvent? {
        switch decoded.content {
        case .one(let envelope, 0): return try Self.event(envelope)
        case .one(let envelope, let attachments):
            let most = JSONEnvelopeCodec.maximumAttachments
            guard (1...most).contains(attachments) else {
                throw LinkspanError(
                    .protocolViolation,
                    "a message announces \(attachments) attachments; up to \(most) are accepted here")
            }
            self.partial = Boxed(Partial(envelope: envelope, missing: attachments, bytes: byteCount))
            self.parts += 1
            return nil
        case .several(let envelopes, let answers):
            self.answers += answers
            for envelope in envelopes.reversed() { self.pending.append(try Self.event(envelope)) }
            return self.popPending()
        }
    }

    private mutating func complete(_ attachment: ArraySlice<UInt8>) throws(LinkspanError) -> LinkEvent? {
        // Taken out, so that adding to it copies nothing.
        guard var partial = self.partial.take()?.value else { return nil }
        self.parts += 1
        partial.attachments.append(attachment.detached())
        partial.missing -= 1
        partial.bytes += attachment.count
        guard partial.bytes <= self.maximumBytes else {
            throw LinkspanError(
                .protocolViolation,
                "a message with its attachments is larger than the \(self.maximumBytes) bytes that are accepted here")
        }
        guard partial.missing == 0 else {
            self.partial = Boxed(partial)
            return nil
        }
        let attachments = partial.attachments
        func whole(_ payload: Payload) -> Payload {
            Payload(trustedElements: payload.elements, attachments: attachments)
        }
        switch partial.envelope {
        case .event(let name, let payload, let id):
            return try Self.event(.event(name: name, payload: whole(payload), id: id))
        case .reply(let id, let payload): return try Self.event(.reply(id: id, payload: whole(payload)))
        case .auth(let payload): return try Self.event(.auth(payload))
        }
    }

    private static func event(_ envelope: consuming Envelope) throws(LinkspanError) -> LinkEvent {
        switch consume envelope {
        case .event(let name, let payload, let id):
            return .message(InboundMessage(event: name, payload: payload, replyID: id))
        case .reply(let id, let payload):
            return .reply(id: id, payload: payload)
        case .auth:
            throw LinkspanError(.protocolViolation, "the server sent credentials to the client")
        }
    }
}
