internal import Linkspan
internal import LinkspanLWS
internal import LinkspanRuntime
internal import LinkspanWebSocketClient

/// A link over one namespace of an engine.
final class SocketIOLink: Link {
    private enum State: Sendable {
        case idle
        case joined(SocketIOEngine)
        case open(SocketIOEngine)
        case ended
    }

    let request: LinkRequest
    let configuration: SocketIOTransport.Configuration
    private let engines: SocketIOEngines
    private let receiver: any LinkReceiver
    private let namespace: Result<SocketIONamespace, LinkspanError>
    private let limits: SocketIOLimits
    private let state = Lock(State.idle)
    /// What the next link resumes from, unless this one is left on purpose.
    private let recovery: Lock<Recovery>

    private enum Recovery: Sendable {
        /// What the link was made with, later what the engine left when the namespace ended with it.
        case kept(SocketIORecovery?)
        case renounced
    }

    init(
        request: LinkRequest, configuration: SocketIOTransport.Configuration, engines: SocketIOEngines,
        receiver: any LinkReceiver
    ) {
        self.request = request
        self.configuration = configuration
        self.engines = engines
        self.receiver = receiver
        self.recovery = Lock(.kept(request.resumption.flatMap(SocketIORecovery.init)))
        let path = request.url.path
        self.namespace = Result { () throws(LinkspanError) in try SocketIONamespace(path) }
        var limits = SocketIOLimits()
        limits.maximumMessageBytes = configuration.maximumMessageBytes
        self.limits = limits
    }

    var key: SocketIOEngines.Key {
        SocketIOEngines.Key(
            host: self.request.url.host, port: self.request.url.port, isSecure: self.request.url.isSecure,
            query: self.request.url.query, headers: self.request.credentials.headers,
            items: self.request.credentials.query, configuration: self.configuration, identity: self.request.identity)
    }

    func open() {
        self.engines.loop.execute {
            // A link that was ended before it could begin must not join: nobody would ever have it leave.
            guard case .idle = self.state.withLock({ $0 }) else { return }
            switch self.namespace {
            case .success: self.engines.join(self)
            case .failure(let error): self.deliver([.closed(error)])
            }
        }
    }

    func send(_ message: OutboundMessage) -> SendAcceptance {
        guard let (engine, namespace) = self.openEngine else { return .refused }
        if let problem = SocketIOEncoder.problem(event: message.event, message.payload, limits: self.limits) {
            return .rejected(problem)
        }
        if let codec = self.configuration.codec {
            let packet = SocketIOCodecPacket(
                .event, namespace: namespace.name, id: message.requestID, event: message.event, payload: message.payload
            )
            return engine.send(packet, by: codec)
        }
        return engine.send(message.payload, overhead: message.event.utf8.count + namespace.prefix.count) { buffer in
            SocketIOEncoder.append(
                event: message.event, message.payload, id: message.requestID, in: namespace, to: &buffer)
        }
    }

    func reply(to id: UInt64, with payload: Payload) {
        guard let (engine, namespace) = self.openEngine else { return }
        guard SocketIOEncoder.problem(payload, limits: self.limits) == nil else { return }
        if let codec = self.configuration.codec {
            let packet = SocketIOCodecPacket(.acknowledgement, namespace: namespace.name, id: id, payload: payload)
            _ = engine.send(packet, by: codec)
            return
        }
        _ = engine.send(payload, overhead: namespace.prefix.count) { buffer in
            SocketIOEncoder.append(ack: id, payload, in: namespace, to: &buffer)
        }
    }

    func close() { self.leave(politely: true) }

    func abort() { self.leave(politely: false) }

    func pauseReading() { self.openEngine?.engine.pauseReading() }

    func resumeReading() { self.openEngine?.engine.resumeReading() }

    var resumption: Resumption? {
        guard case .kept(let kept) = self.recovery.withLock({ $0 }) else { return nil }
        let engine = self.state.withLock { state -> SocketIOEngine? in
            if case .open(let engine) = state { engine } else { nil }
        }
        return (engine.map { $0.recovery(of: self) } ?? kept)?.exported
    }

    private func leave(politely: Bool) {
        if politely { self.recovery.withLock { $0 = .renounced } }
        self.engines.loop.execute {
            let engine = self.state.withLock { state -> SocketIOEngine? in
                switch state {
                case .joined(let engine), .open(let engine): return engine
                case .idle, .ended: return nil
                }
            }
            if let engine {
                engine.leave(self, politely: politely)
            } else {
                self.deliver([.closed(LinkspanError(.connectionLost, "closed by this side"))])
            }
        }
    }

    private var openEngine: (engine: SocketIOEngine, namespace: SocketIONamespace)? {
        guard case .success(let namespace) = self.namespace else { return nil }
        return self.state.withLock { state in
            if case .open(let engine) = state { (engine, namespace) } else { nil }
        }
    }

    // MARK: For the engine, on the loop's thread

    /// The namespace; only links that have one get as far as an engine.
    var joinedNamespace: SocketIONamespace { (try? self.namespace.get()) ?? .main }

    func keep(_ recovery: SocketIORecovery?) {
        self.recovery.withLock { if case .kept = $0 { $0 = .kept(recovery) } }
    }

    func isJoined(to engine: SocketIOEngine) {
        self.state.withLock { state in
            if case .idle = state { state = .joined(engine) }
        }
    }

    /// Hands events over, unless the link has ended.
    ///
    /// Follows what they mean for its own state.
    func deliver(_ events: [LinkEvent]) {
        let mayDeliver = self.state.withLock { state in
            if case .ended = state { return false }
            if case .joined(let engine) = state, case .opened = events.first { state = .open(engine) }
            if case .closed = events.last { state = .ended }
            return true
        }
        if mayDeliver { self.receiver.receive(events) }
    }
}
