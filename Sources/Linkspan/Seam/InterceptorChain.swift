/// The interceptors of a connection, in the order in which messages leave through them.
///
/// A connection without interceptors has no chain: each message costs the look whether there is one.
struct InterceptorChain: Sendable {
    private let members: [any Interceptor]

    /// The chain of these interceptors; nil for none.
    init?(_ members: [any Interceptor]) {
        guard !members.isEmpty else { return nil }
        self.members = members
    }

    /// A command that the members have seen.
    struct Accepted: Sendable {
        var command: Command
        /// The observers that members have added; they also get the outcome of a command that is refused afterwards.
        let observers: (@Sendable (Result<Payload, LinkspanError>) -> Void)?
    }

    /// Passes a command through the members.
    ///
    /// - Throws: the reason of the member that refuses it.
    func accept(_ command: Command) throws(LinkspanError) -> Accepted {
        // It sends nothing.
        guard command.kind != .outcome else { return Accepted(command: command, observers: nil) }
        let completion = command.completion
        var accepted = command
        if completion != nil { accepted.completion = nil }
        for member in self.members {
            do throws(LinkspanError) {
                try member.accept(&accepted)
            } catch {
                let refusal = error.dropping("'\(command.event)'", by: member, certainty: .notSent)
                accepted.completion?(.failure(refusal))
                throw refusal
            }
        }
        let observers = accepted.completion
        guard completion != nil else { return Accepted(command: accepted, observers: observers) }
        accepted.completion = { outcome in
            observers?(outcome)
            completion?(outcome)
        }
        return Accepted(command: accepted, observers: observers)
    }

    private func send(_ message: inout InterceptedMessage) throws(LinkspanError) {
        for member in self.members {
            do throws(LinkspanError) {
                try member.send(&message)
            } catch {
                throw error.dropping(message.shown, by: member, certainty: .notSent)
            }
        }
    }

    private func receive(_ message: inout InterceptedMessage) throws(LinkspanError) {
        for member in self.members.reversed() {
            do throws(LinkspanError) {
                try member.receive(&message)
            } catch {
                throw error.dropping(message.shown, by: member, certainty: .unknown)
            }
        }
    }

    /// Passes a message on its way out.
    func send(_ message: OutboundMessage) throws(LinkspanError) -> OutboundMessage {
        var (message, intercepted) = (message, InterceptedMessage(event: message.event, payload: message.payload))
        try self.send(&intercepted)
        (message.event, message.payload) = (intercepted.event, intercepted.payload)
        return message
    }

    /// Passes our reply to a message of the server.
    func send(replyTo event: String, _ payload: Payload) throws(LinkspanError) -> Payload {
        var intercepted = InterceptedMessage(event: event, payload: payload, isReply: true)
        try self.send(&intercepted)
        return intercepted.payload
    }

    /// Passes a message of the server.
    func receive(_ message: InboundMessage) throws(LinkspanError) -> InboundMessage {
        var intercepted = InterceptedMessage(event: message.event, payload: message.payload)
        try self.receive(&intercepted)
        return InboundMessage(event: intercepted.event, payload: intercepted.payload, replyID: message.replyID)
    }

    /// Passes the server's reply to a message of ours.
    func receive(replyTo event: String, _ payload: Payload) throws(LinkspanError) -> Payload {
        var intercepted = InterceptedMessage(event: event, payload: payload, isReply: true)
        try self.receive(&intercepted)
        return intercepted.payload
    }

    /// Calls a listener inside all members, the first outermost.
    func handle(_ message: Message, by listener: () -> Void) { self.handle(message, from: 0, by: listener) }

    private func handle(_ message: Message, from index: Int, by listener: () -> Void) {
        guard index < self.members.count else { return listener() }
        self.members[index].handle(message) { self.handle(message, from: index + 1, by: listener) }
    }
}

extension InterceptedMessage {
    /// The name in an error.
    fileprivate var shown: String { self.isReply ? "the reply to '\(self.event)'" : "'\(self.event)'" }
}

extension LinkspanError {
    /// The reason of a member as the outcome of what it dropped.
    fileprivate func dropping(_ message: String, by member: any Interceptor, certainty: Certainty) -> Self {
        Self(
            self.code, "\(message) was dropped by interceptor '\(member.name)': \(self.message)", cause: self.cause,
            certainty: certainty, details: self.details)
    }
}
