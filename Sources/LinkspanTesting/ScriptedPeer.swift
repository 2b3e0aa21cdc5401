public import Linkspan
internal import LinkspanRuntime

/// One link of a ``ScriptedTransport``, as its server sees it.
public final class ScriptedPeer: Sendable {
    private struct State: Sendable {
        var questions: [UInt64: @Sendable (Payload) -> Void] = [:]
        var lastQuestion: UInt64 = 0
    }

    /// Counts the links of the transport, from 1.
    public let number: Int
    /// The request that the client connected with, credentials included.
    public let request: LinkRequest
    private let link: ScriptedLink
    private let state: Confined<State>
    private let executor: TestExecutor

    init(number: Int, link: ScriptedLink, executor: TestExecutor) {
        self.number = number
        self.request = link.request
        self.link = link
        self.executor = executor
        self.state = Confined(State(), to: executor)
    }

    private func withState<Result: Sendable>(_ body: @escaping @Sendable (inout State) -> Result) -> Result {
        self.executor.run { body(&self.state.value) }
    }

    /// The renewed credentials that the client has shown while the link was open, in order; see
    /// ``LinkScript/showsRenewals``.
    package var renewals: [Credentials] { self.link.renewals }

    /// Whether the client may send.
    public var isOpen: Bool { self.link.isOpen }

    /// Sends an event to the client.
    public func emit(_ event: String, _ payload: Payload = .empty) {
        self.link.deliver(.message(InboundMessage(event: event, payload: payload)))
    }

    /// Sends an event to the client and receives its reply.
    public func ask(
        _ event: String, _ payload: Payload = .empty, _ onReply: @escaping @Sendable (Payload) -> Void
    ) {
        let id = self.withState { state in
            state.lastQuestion += 1
            state.questions[state.lastQuestion] = onReply
            return state.lastQuestion
        }
        self.link.deliver(.message(InboundMessage(event: event, payload: payload, replyID: id)))
    }

    /// Sends the reply to a request, known or not.
    public func reply(_ id: UInt64, _ payload: Payload = .empty) {
        self.link.deliver(.reply(id: id, payload: payload))
    }

    /// Ends the link once all messages under way to the client have arrived.
    public func close(_ error: LinkspanError = LinkspanError(.closedByServer, "the server closed the link")) {
        self.link.finish(error)
    }

    /// Loses the link now, with everything that is under way.
    public func drop(_ error: LinkspanError = LinkspanError(.connectionLost, "the link was dropped")) {
        self.link.drop(error)
    }

    /// Reads messages that have arrived and wait because of ``LinkScript/capacity``: so many, or all when `count` is
    /// nil.
    public func read(_ count: Int? = nil) { self.link.read(count) }

    func answered(_ id: UInt64, _ payload: Payload) {
        let onReply = self.withState { $0.questions.removeValue(forKey: id) }
        onReply?(payload)
    }
}
