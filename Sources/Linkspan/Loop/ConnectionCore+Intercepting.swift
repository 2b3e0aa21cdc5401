internal import Logging

/// Passing messages through the chain, for connections that have one.
extension ConnectionCore {
    /// The message that the link is given for a command; nil when the chain dropped it, and the command has its outcome.
    func intercept(
        _ outgoing: borrowing CommandStateMachine.Outgoing, _ chain: InterceptorChain
    ) -> Result<OutboundMessage, LinkspanError> {
        var message = outgoing.message
        var intercepted = InterceptedMessage(event: message.event, payload: message.payload)
        do throws(LinkspanError) {
            // As while a link is called: what an interceptor sends comes behind this message.
            try self.passing { () throws(LinkspanError) in try chain.send(&intercepted) }
        } catch {
            self.noteDrop(error)
            return .failure(error)
        }
        (message.event, message.payload) = (intercepted.event, intercepted.payload)
        return .success(message)
    }

    /// The message as listeners get it; nil when the chain dropped it.
    func intercept(_ inbound: InboundMessage, _ chain: InterceptorChain) -> InboundMessage? {
        var intercepted = InterceptedMessage(event: inbound.event, payload: inbound.payload)
        do throws(LinkspanError) {
            try self.passing { () throws(LinkspanError) in try chain.receive(&intercepted) }
        } catch {
            self.noteDrop(error)
            return nil
        }
        return InboundMessage(
            event: intercepted.event, payload: intercepted.payload, replyID: inbound.replyID)
    }

    /// Our reply as the link gets it.
    func intercept(
        replyTo event: String, _ payload: Payload, _ chain: InterceptorChain
    ) throws(LinkspanError) -> Payload {
        var intercepted = InterceptedMessage(event: event, payload: payload, isReply: true)
        try self.passing { () throws(LinkspanError) in try chain.send(&intercepted) }
        return intercepted.payload
    }

    /// The server's reply as the caller gets it.
    func intercept(
        replyFor event: String, _ payload: Payload, _ chain: InterceptorChain
    ) -> Result<Payload, LinkspanError> {
        var intercepted = InterceptedMessage(event: event, payload: payload, isReply: true)
        do throws(LinkspanError) {
            try self.passing { () throws(LinkspanError) in try chain.receive(&intercepted) }
        } catch {
            self.noteDrop(error)
            return .failure(error)
        }
        return .success(intercepted.payload)
    }

    private func passing(_ body: () throws(LinkspanError) -> Void) throws(LinkspanError) {
        let former = self.isCallingLink
        self.isCallingLink = true
        defer { self.isCallingLink = former }
        try body()
    }

    /// Counts a dropped message; the first is worth a look, the others may be the purpose of a filter.
    func noteDrop(_ error: LinkspanError) {
        let count = self.inbox.withState { state in
            state.droppedMessages += 1
            return state.droppedMessages
        }
        self.environment.logger.log(
            level: count == 1 ? .notice : .debug, "An interceptor dropped a message",
            metadata: ["url": "\(self.destination.url)", "error": "\(error)", "count": "\(count)"])
    }
}
