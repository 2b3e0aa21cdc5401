internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// One client of a raw WebSocket, with its link to the hub.
///
/// Lives on the loop.
final class EnvelopeConnection: ConnectionOwner {
    private let request: HTTPRequest
    private let context: ServerContext
    private let began = ContinuousClock.now
    private var session: EnvelopeServerSession
    private var connection: ServerConnection?
    private var relay: HubRelay?
    private var hasEntered = false
    /// Whether a pong is awaited; the timer then ends the connection, and sends no ping.
    private var isPinged = false
    private lazy var introduction = ServerDeadline(self.context) { [weak self] in self?.act { $0.credentialsOverdue() }
    }
    private lazy var heartbeat = ServerDeadline(self.context) { [weak self] in self?.beat() }

    init(_ request: HTTPRequest, _ context: ServerContext) {
        self.request = request.withoutBody
        self.context = context
        let configuration = context.configuration
        self.session = EnvelopeServerSession(
            maximumBytes: configuration.maximumMessageBytes, requiresCredentials: configuration.introduction.isRequired)
    }

    /// Accepts the upgrade, and begins to count the time for credentials and the heartbeat.
    func begin(on connection: ServerConnection) {
        guard connection.upgrade(self.request, owner: self) else { return }
        self.connection = connection
        self.introduction.set(self.began + self.context.configuration.introduction.limit)
        self.heartbeat.set(self.began + self.context.configuration.pingInterval)
    }

    var unusedSince: ContinuousClock.Instant? { self.hasEntered ? nil : self.began }

    func received(_ next: () -> WebSocketMessage?, on connection: ServerConnection) {
        while let message = next() { self.act { $0.receive(message) } }
    }

    func ended(_ connection: ServerConnection) { self.end { _ in } }

    private func act(_ decide: (inout EnvelopeServerSession) -> [EnvelopeServerSession.Event]) {
        guard self.connection != nil else { return }
        for event in decide(&self.session) {
            switch event {
            case .enter(let auth): self.enter(auth)
            case .say(let saying): self.say(saying)
            case .violation(let code, let message): self.close(code, message)
            }
        }
    }

    private func enter(_ auth: Payload?) {
        guard let hub = self.context.hubs["/"],
            let request = self.request.linkRequest(auth: auth, path: self.request.path, self.context)
        else { return self.close(.internalError, "there is no hub") }
        let relay = HubRelay(self.context) { [weak self] event in self?.heard(event) }
        self.relay = relay
        relay.enter(hub, request)
    }

    private func say(_ saying: HubRelay.Saying) {
        guard let relay = self.relay, !relay.say(saying) else { return }
        self.close(.policyViolation, "too many messages before the answer to the credentials")
    }

    private func heard(_ event: LinkEvent) {
        switch event {
        case .opened: self.hasEntered = true
        case .message(let message): self.send { $0.message(message) }
        case .reply(let id, let payload): self.send { $0.reply(id, payload) }
        case .changed, .failed, .writable: ()
        case .closed(let error):
            guard let code = EnvelopeServerSession.closeCode(for: error, hasEntered: self.hasEntered) else {
                // Without a word, as if the network were gone.
                return self.end { $0.drop() }
            }
            self.close(code, error.message)
        }
    }

    private func send(_ encode: (EnvelopeServerSession) -> [WebSocketMessage]) {
        self.connection?.send(encode(self.session))
    }

    private func close(_ code: CloseCode, _ reason: String) {
        self.end { $0.close(code, reason: reason) }
    }

    private func end(_ endConnection: (ServerConnection) -> Void) {
        self.introduction.set(nil)
        self.heartbeat.set(nil)
        let (connection, relay) = (self.connection.take(), self.relay.take())
        if let connection { endConnection(connection) }
        relay?.leave()
    }

    /// Pings, and looks after a while whether that was answered.
    private func beat() {
        guard let connection = self.connection else { return }
        if self.isPinged, connection.isAwaitingPong {
            return self.close(.internalError, "pings were not answered")
        }
        self.isPinged.toggle()
        if self.isPinged { connection.ping() }
        let configuration = self.context.configuration
        self.heartbeat.set(.now + (self.isPinged ? configuration.pingTimeout : configuration.pingInterval))
    }
}
