internal import Linkspan
internal import LinkspanNetwork

@testable internal import LinkspanWebSocket

extension FuzzTarget {
    /// The envelopes of the raw WebSocket transport: a line is a message, `t` and its text or `b` and its bytes.
    ///
    /// What is accepted survives being written and read again, with all its attachments and no more.
    public static let envelope = Self(name: "envelope", maximumLength: 4096) { input throws(Violation) in
        let maximum = 512
        var codec: any MessageProtocol = JSONMessageProtocol()
        var assembly = EnvelopeAssembly(maximumBytes: maximum)
        for line in FuzzInput.lines(input) {
            guard let kind = line.first, kind == UInt8(ascii: "t") || kind == UInt8(ascii: "b") else { continue }
            let data = line.dropFirst()
            guard kind == UInt8(ascii: "b") || FuzzInput.isUTF8(data) else { continue }
            let event: LinkEvent?
            do throws(LinkspanError) {
                event = try assembly.receive(kind == UInt8(ascii: "t") ? .text(data) : .binary(data), by: &codec)
            } catch {
                try require(error.code == .protocolViolation, "a violation is called \(error.code)")
                // The link has ended: nothing of the half message may be left.
                let probe = Array(#"{"event":"still there"}"#.utf8)
                guard case .message? = try? assembly.receive(.text(probe[...]), by: &codec) else {
                    throw Violation(message: "an error leaves half a message behind")
                }
                continue
            }
            if let event { try EnvelopeOracle.check(event, maximum: maximum) }
        }
    }
}

private enum EnvelopeOracle {
    static func check(_ event: LinkEvent, maximum: Int) throws(Violation) {
        let envelope: Envelope
        switch event {
        case .message(let message):
            envelope = .event(name: message.event, payload: message.payload, id: message.replyID)
        case .reply(let id, let payload):
            envelope = .reply(id: id, payload: payload)
        case .opened, .changed, .closed, .failed, .writable:
            throw Violation(message: "a message became \(event)")
        }
        let payload = Self.payload(envelope)
        let attached = payload.attachments.reduce(0) { $0 + $1.count }
        try require(attached <= maximum && payload.attachments.count <= 10, "attachments exceed a limit")
        try require((try? ReferenceJSON.elements(Array(payload.elements))) != nil, "a payload is malformed")
        var text: [UInt8] = []
        var codec: any MessageProtocol = JSONMessageProtocol()
        guard (try? codec.encode(envelope, to: &text)) == .text else {
            throw Violation(message: "what was read cannot be written")
        }
        var assembly = EnvelopeAssembly(maximumBytes: .max)
        var again = try? assembly.receive(.text(text[...]), by: &codec)
        for attachment in payload.attachments { again = try? assembly.receive(.binary(attachment), by: &codec) }
        guard let again else { throw Violation(message: "what was written cannot be read: \(FuzzInput.text(text))") }
        try require(Self.same(event, again), "\(FuzzInput.text(text)) is read as something else")
    }

    private static func payload(_ envelope: Envelope) -> Payload {
        switch envelope {
        case .event(_, let payload, _), .reply(_, let payload): payload
        }
    }

    private static func same(_ one: LinkEvent, _ other: LinkEvent) -> Bool {
        switch (one, other) {
        case (.message(let one), .message(let other)):
            one.event == other.event && one.payload == other.payload && one.replyID == other.replyID
        case (.reply(let id, let payload), .reply(let otherID, let otherPayload)):
            id == otherID && payload == otherPayload
        default: false
        }
    }
}
