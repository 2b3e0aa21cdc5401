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
    /// The most events before a session is ready.
    private static let earlyLimit = 1_024
    private var partial: Boxed<Partial>?
    /// The events behind the one that was returned last, the next one last.
    private var pending: [LinkEvent] = []
    /// The events that came before the session was ready, the next one last.
    private var early: [LinkEvent] = []
    /// The protocol's answers to the messages that were taken.
    private var answers: [WebSocketMessage] = []
    /// The number of attachments that have come.
    private(set) var attachmentCount = 0

    /// Whether attachments are due.
    package var isCollecting: Bool { self.partial != nil }

    package init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// The next event of those that were put off, or of a message that brought several.
    package mutating func popPending() -> LinkEvent? {
        self.early.isEmpty ? self.pending.popLast() : self.early.popLast()
    }

    /// Puts the events of the last message off, behind those that were put off before.
    ///
    /// - Throws: code `protocolViolation` when there are too many.
    mutating func putOff(_ first: LinkEvent?) throws(LinkspanError) {
        self.early = self.pending + (first.map { [$0] } ?? []) + self.early
        self.pending = []
        guard self.early.count <= Self.earlyLimit else {
            throw LinkspanError(
                .protocolViolation, "more than \(Self.earlyLimit) events came before the session was accepted")
        }
    }

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
    ///   - session: reads it; the same for all messages.
    /// - Returns: the first event that is complete with it.
    /// - Throws: the error of the protocol; what it cannot read is a `protocolViolation`. The link is to end.
    package mutating func receive(
        _ message: consuming WebSocketMessage, by session: inout any MessageProtocol
    ) throws(LinkspanError) -> LinkEvent? {
        do throws(LinkspanError) {
            return try self.take(message, by: &session)
        } catch {
            guard error.code == .decodingFailed || error.code == .encodingFailed else { throw error }
            throw LinkspanError(.protocolViolation, "protocol '\(session.name)' cannot read a message", cause: error)
        }
    }

    /// Takes the result of a deadline, when ``popPending()`` has no event any more.
    ///
    /// - Returns: the first event.
    /// - Throws: code `protocolViolation`; the link is to end.
    package mutating func receive(timed decoded: DecodedEnvelope) throws(LinkspanError) -> LinkEvent? {
        try self.begin(decoded, byteCount: 0)
    }

    /// Takes a ping or pong, when ``popPending()`` has no event any more.
    ///
    /// - Returns: the first event that the protocol makes of it.
    package mutating func receive(
        _ control: Opcode, payload: ArraySlice<UInt8>, by session: inout any MessageProtocol
    ) -> LinkEvent? {
        let decoded = control == .ping ? session.decode(ping: payload) : session.decode(pong: payload)
        for envelope in decoded.reversed() { self.pending.append(Self.event(envelope)) }
        return self.pending.popLast()
    }

    private mutating func take(
        _ message: consuming WebSocketMessage, by session: inout any MessageProtocol
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
            return try self.begin(try session.decode(text: consume text), byteCount: count)
        case .binary(let data):
            let count = data.count
            return try self.begin(try session.decode(binary: consume data), byteCount: count)
        }
    }

    private mutating func begin(
        _ decoded: consuming DecodedEnvelope, byteCount: Int
    ) throws(LinkspanError) -> LinkEvent? {
        switch decoded.content {
        case .one(let envelope, 0): return Self.event(envelope)
        case .one(let envelope, let attachments):
            let most = JSONMessageProtocol.maximumAttachments
            guard (1...most).contains(attachments) else {
                throw LinkspanError(
                    .protocolViolation,
                    "a message announces \(attachments) attachments; up to \(most) are accepted here")
            }
            self.partial = Boxed(Partial(envelope: envelope, missing: attachments, bytes: byteCount))
            return nil
        case .several(let envelopes, let answers, let failures):
            self.answers += answers
            for failure in failures.reversed() { self.pending.append(.failed(id: failure.id, failure.error)) }
            for envelope in envelopes.reversed() { self.pending.append(Self.event(envelope)) }
            return self.pending.popLast()
        }
    }

    private mutating func complete(_ attachment: ArraySlice<UInt8>) throws(LinkspanError) -> LinkEvent? {
        // Taken out, so that adding to it copies nothing.
        guard var partial = self.partial.take()?.value else { return nil }
        self.attachmentCount += 1
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
            return Self.event(.event(name: name, payload: whole(payload), id: id))
        case .reply(let id, let payload): return Self.event(.reply(id: id, payload: whole(payload)))
        }
    }

    private static func event(_ envelope: consuming Envelope) -> LinkEvent {
        switch consume envelope {
        case .event(let name, let payload, let id):
            return .message(InboundMessage(event: name, payload: payload, replyID: id))
        case .reply(let id, let payload):
            return .reply(id: id, payload: payload)
        }
    }
}
