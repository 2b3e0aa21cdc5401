internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import LinkspanWebSocketProtocol

/// The server's end of the JSON envelope over one WebSocket: who comes, and what their messages mean.
struct EnvelopeServerSession: Sendable {
    enum Event: Sendable {
        /// The client is who it says, or says nothing of who it is.
        case enter(auth: Payload?)
        case say(HubRelay.Saying)
        /// The client broke the format: close with this.
        case violation(CloseCode, String)
    }

    private var format: any MessageProtocol = JSONMessageProtocol()
    private let requiresCredentials: Bool
    private var assembly: EnvelopeAssembly
    /// The kind of admission; nil before the client is admitted.
    private var hasCredentials: Bool?

    /// Makes a session; without credentials a client is let in only when they are not required.
    init(maximumBytes: Int, requiresCredentials: Bool) {
        self.requiresCredentials = requiresCredentials
        self.assembly = EnvelopeAssembly(maximumBytes: maximumBytes)
    }

    /// Takes a message.
    mutating func receive(_ message: WebSocketMessage) -> [Event] {
        if self.hasCredentials == nil {
            if case .text(let text) = message, let auth = Self.auth(text) { return self.enter(auth) }
            guard !self.requiresCredentials else {
                return [.violation(.policyViolation, "the first message has no credentials")]
            }
        }
        do throws(LinkspanError) {
            let event = try self.assembly.receive(message, by: &self.format)
            return self.enterUnnamed() + (event.flatMap(Self.event).map { [$0] } ?? [])
        } catch {
            if self.hasCredentials == false, case .text(let text) = message, Self.auth(text) != nil {
                return [.violation(.tryAgainLater, "the credentials came too late")]
            }
            // What is not JSON at all is another fault than JSON that is no envelope.
            return [.violation(error.cause is JSONScanError ? .invalidPayload : .policyViolation, error.message)]
        }
    }

    /// The time to say who it is has passed.
    mutating func credentialsOverdue() -> [Event] {
        guard self.hasCredentials == nil else { return [] }
        guard self.requiresCredentials else { return self.enterUnnamed() }
        return [.violation(.policyViolation, "no credentials in time")]
    }

    private mutating func enter(_ auth: Payload) -> [Event] {
        guard auth.byteCount <= CredentialLimit.bytes else {
            return [.violation(.messageTooBig, CredentialLimit.reason)]
        }
        self.hasCredentials = true
        return [.enter(auth: auth)]
    }

    private mutating func enterUnnamed() -> [Event] {
        guard self.hasCredentials == nil else { return [] }
        self.hasCredentials = false
        return [.enter(auth: nil)]
    }

    private static func auth(_ text: ArraySlice<UInt8>) -> Payload? {
        guard let value = (try? Payload(checking: text))?[0]?["auth"] else { return nil }
        return Payload(trustedElements: value.text)
    }

    private static func event(_ event: LinkEvent) -> Event? {
        switch event {
        case .message(let message): .say(.message(message))
        case .reply(let id, let payload): .say(.reply(id: id, payload))
        case .opened, .changed, .failed, .writable, .closed: nil
        }
    }

    // MARK: What the hub says

    func message(_ message: InboundMessage) -> [WebSocketMessage] {
        self.frames(.event(name: message.event, payload: message.payload, id: message.replyID), message.payload)
    }

    func reply(_ id: UInt64, _ payload: Payload) -> [WebSocketMessage] {
        self.frames(.reply(id: id, payload: payload), payload)
    }

    private func frames(_ envelope: Envelope, _ payload: Payload) -> [WebSocketMessage] {
        var text: [UInt8] = []
        // The only thing it refuses is too many attachments, which no client would take either.
        guard (try? JSONMessageProtocol().encode(envelope, to: &text)) != nil else { return [] }
        return [.text(text[...])] + payload.attachments.map { .binary($0) }
    }

    /// The Close frame's code for an end that the hub decided on; nil when the client is to hear nothing.
    static func closeCode(for error: LinkspanError, hasEntered: Bool) -> CloseCode? {
        switch error.code {
        case .connectionLost: nil
        case .serverUnavailable: .tryAgainLater
        case .refused: CloseCode(rawValue: 4403)
        case .credentialsRefused: CloseCode(rawValue: 4401)
        case .closedByServer where hasEntered: CloseCode(rawValue: 4403)
        default: hasEntered ? .internalError : CloseCode(rawValue: 4401)
        }
    }
}
