internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// One client of a raw WebSocket, with its link to the hub.
///
/// Lives on the loop.
final class EnvelopeConnection: ConnectionOwner {
    private struct State {
        var session: EnvelopeServerSession
        var connection: ServerConnection?
        var relay: HubRelay?
        var hasEntered = false
        /// Whether a ping was sent, and its answer is looked for next.
        var isPinged = false
    }

    private let request: HTTPRequest
    private let context: ServerContext
    private let began = ContinuousClock.now
    private var state: State
    private lazy var introduction = ServerDeadline(self.context) { [weak self] in self?.introductionOverdue() }
    private lazy var heartbeat = ServerDeadline(self.context) { [weak self] in self?.beat() }

    init(_ request: HTTPRequest, _ context: ServerContext) {
        self.request = request.withoutBody
        self.context = context
        let configuration = context.configuration
        self.state = State(
            session: EnvelopeServerSession(
                maximumBytes: configuration.maximumMessageBytes,
                requiresCredentials: configuration.introduction.isRequired))
    }

    /// Changes the state in place.
    private func withState<Result>(_ body: (inout State) throws -> Result) rethrows -> Result { try body(&self.state) }

    /// Accepts the upgrade, and begins to count the time for credentials and the heartbeat.
    func begin(on connection: ServerConnection) {
        guard connection.upgrade(self.request, owner: self) else { return }
        self.withState { $0.connection = connection }
        self.introduction.set(self.began + self.context.configuration.introduction.limit)
        self.heartbeat.set(self.began + self.context.configuration.pingInterval)
    }

    private func introductionOverdue() { self.act { $0.credentialsOverdue() } }

    var unusedSince: ContinuousClock.Instant? { self.state.hasEntered ? nil : self.began }

    func received(_ next: () -> WebSocketMessage?, on connection: ServerConnection) {
        while let message = next() { self.act { $0.receive(message) } }
    }

    func ended(_ connection: ServerConnection) { self.take().relay?.leave() }

    private func act(_ decide: (inout EnvelopeServerSession) -> [EnvelopeServerSession.Event]) {
        let events = self.withState { state in state.connection == nil ? [] : decide(&state.session) }
        for event in events {
            switch event {
            case .enter(let auth): self.enter(auth)
            case .message(let message): self.say(.message(message))
            case .reply(let id, let payload): self.say(.reply(id: id, payload))
            case .violation(let code, let message): self.close(code, message)
            }
        }
    }

    private func enter(_ auth: Payload?) {
        guard let hub = self.context.hubs["/"],
            let request = self.request.linkRequest(auth: auth, path: self.request.path, self.context)
        else { return self.close(.internalError, "there is no hub") }
        let relay = HubRelay(self.context) { [weak self] event in self?.heard(event) }
        self.withState { $0.relay = relay }
        relay.enter(hub, request)
    }

    private func say(_ saying: HubRelay.Saying) {
        guard let relay = self.withState({ $0.relay }), !relay.say(saying) else { return }
        self.close(.policyViolation, "too many messages before the answer to the credentials")
    }

    private func heard(_ event: LinkEvent) {
        switch event {
        case .opened: self.withState { $0.hasEntered = true }
        case .message(let message): self.send { $0.message(message) }
        case .reply(let id, let payload): self.send { $0.reply(id, payload) }
        case .changed, .writable: ()
        case .closed(let error):
            let hasEntered = self.withState { $0.hasEntered }
            guard let code = EnvelopeServerSession.closeCode(for: error, hasEntered: hasEntered) else {
                return self.drop()
            }
            self.close(code, error.message)
        }
    }

    private func send(_ encode: (EnvelopeServerSession) -> [WebSocketMessage]) {
        let (connection, frames) = self.withState { ($0.connection, encode($0.session)) }
        connection?.send(frames)
    }

    private func close(_ code: CloseCode, _ reason: String) {
        let (connection, relay) = self.take()
        connection?.close(code, reason: reason)
        relay?.leave()
    }

    /// Ends without a word, as if the network were gone.
    func drop() {
        let (connection, relay) = self.take()
        connection?.drop()
        relay?.leave()
    }

    private func take() -> (connection: ServerConnection?, relay: HubRelay?) {
        self.introduction.set(nil)
        self.heartbeat.set(nil)
        return self.withState { state in
            defer { (state.connection, state.relay) = (nil, nil) }
            return (state.connection, state.relay)
        }
    }

    /// Pings, and looks after a while whether that was answered.
    private func beat() {
        guard let connection = self.state.connection else { return }
        if self.state.isPinged, connection.isAwaitingPong {
            return self.close(.internalError, "pings were not answered")
        }
        self.state.isPinged.toggle()
        if self.state.isPinged { connection.ping() }
        let configuration = self.context.configuration
        self.heartbeat.set(.now + (self.state.isPinged ? configuration.pingTimeout : configuration.pingInterval))
    }
}
