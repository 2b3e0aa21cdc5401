internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

/// A link over one namespace of an engine; lives on the engine's loop.
final class SocketIOLink: Link {
    private enum State {
        case idle
        case joined(SocketIOEngine)
        case open(SocketIOEngine)
        /// Its last words are on their way.
        case leaving(SocketIOEngine)
        case ended
    }

    let request: LinkRequest
    let configuration: SocketIOTransport.Configuration
    private let engines: SocketIOEngines
    private let receiver: any LinkReceiver
    private let namespace: SocketIONamespace
    /// Why the URL names no namespace.
    private let problem: LinkspanError?
    private let limits: SocketIOLimits
    /// Whether the app has a codec: a look at the codec itself would retain it for each message.
    private let hasCodec: Bool
    private var state = State.idle
    /// How events of the name begin that was sent last.
    @exclusivity(unchecked) private var head = SocketIOEncoder.EventHead()
    /// What the next link resumes from, unless this one is left on purpose.
    private var recovery: Recovery
    /// What is known about it since it is open, besides its carrier.
    private var info = LinkInfo()

    private enum Recovery {
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
        self.recovery = .kept(request.resumption.flatMap(SocketIORecovery.init))
        do throws(LinkspanError) {
            (self.namespace, self.problem) = (try SocketIONamespace(request.url.path), nil)
        } catch {
            (self.namespace, self.problem) = (.main, error)
        }
        var limits = SocketIOLimits()
        limits.maximumMessageBytes = configuration.maximumMessageBytes
        self.limits = limits
        self.hasCodec = configuration.codec != nil
    }

    var key: SocketIOEngines.Key {
        SocketIOEngines.Key(
            host: self.request.url.host, port: self.request.url.port, isSecure: self.request.url.isSecure,
            query: self.request.url.query, headers: self.request.credentials.headers,
            items: self.request.credentials.query, configuration: self.configuration, identity: self.request.identity)
    }

    func open() {
        self.engines.loop.executeLocally {
            // A link that was ended before it could begin must not join: nobody would ever have it leave.
            guard case .idle = self.state else { return }
            if let problem = self.problem { self.deliver(.closed(problem)) } else { self.engines.join(self) }
        }
    }

    func send(_ message: OutboundMessage) -> SendAcceptance {
        guard case .open(let engine) = self.state else { return .refused }
        let isPlain = message.payload.attachments.isEmpty
        // Of another plain event of a name that may be sent nothing is left to be checked.
        if !isPlain || !self.head.isOf(message.event) {
            if let problem = SocketIOEncoder.problem(event: message.event, message.payload, limits: self.limits) {
                return .rejected(problem)
            }
            if self.hasCodec, let codec = self.configuration.codec {
                let packet = SocketIOCodecPacket(
                    .event, namespace: self.namespace.name, id: message.requestID, event: message.event,
                    payload: message.payload
                )
                return engine.send(packet, by: codec, isCompressible: message.isCompressible)
            }
            if isPlain { self.head = SocketIOEncoder.EventHead(message.event, in: self.namespace) }
        }
        return engine.send(
            message.payload, overhead: message.event.utf8.count + self.namespace.prefix.count,
            isCompressible: message.isCompressible
        ) { buffer in
            if isPlain {
                self.head.append(message.payload.elements, id: message.requestID, to: &buffer)
            } else {
                SocketIOEncoder.append(
                    event: message.event, message.payload, id: message.requestID, in: self.namespace, to: &buffer)
            }
        }
    }

    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance {
        guard case .open(let engine) = self.state else { return .refused }
        if let problem = SocketIOEncoder.problem(payload, limits: self.limits) { return .rejected(problem) }
        if self.hasCodec, let codec = self.configuration.codec {
            let packet = SocketIOCodecPacket(.acknowledgement, namespace: self.namespace.name, id: id, payload: payload)
            return engine.send(packet, by: codec)
        }
        return engine.send(payload, overhead: self.namespace.prefix.count) { buffer in
            SocketIOEncoder.append(ack: id, payload, in: self.namespace, to: &buffer)
        }
    }

    func renewCredentials(_ credentials: Credentials) -> Bool {
        self.sendRenewal(credentials, by: self.configuration.renewalEvent)
    }

    func close() { self.leave(politely: true) }

    func abort() { self.leave(politely: false) }

    func setReadingPaused(_ isPaused: Bool) { self.openEngine?.setReadingPaused(isPaused, for: self) }

    var resumption: Secret? {
        guard case .kept(let kept) = self.recovery else { return nil }
        guard case .open(let engine) = self.state else { return kept?.exported }
        return engine.recovery(of: self)?.exported
    }

    /// As a job, because the receiver may hear of it at once.
    private func leave(politely: Bool) {
        if politely { self.recovery = .renounced }
        self.engines.loop.executeLocally {
            switch self.state {
            case .joined(let engine), .open(let engine):
                if politely { self.state = .leaving(engine) }
                engine.leave(self, politely: politely)
            case .leaving(let engine): if !politely { engine.endFarewells() }
            case .idle, .ended: self.deliver(.closed(LinkspanError(.connectionLost, "closed by this side")))
            }
        }
    }

    var openingStage: String? {
        guard case .joined(let engine) = self.state else { return nil }
        return engine.openingStage
    }

    var isOpen: Bool { self.openEngine != nil }

    private var openEngine: SocketIOEngine? { if case .open(let engine) = self.state { engine } else { nil } }

    // MARK: For the engine

    /// The namespace; only links that have one get as far as an engine.
    var joinedNamespace: SocketIONamespace { self.namespace }

    func keep(_ recovery: SocketIORecovery?) {
        if case .kept = self.recovery { self.recovery = .kept(recovery) }
    }

    func isJoined(to engine: SocketIOEngine) {
        if case .idle = self.state { self.state = .joined(engine) }
    }

    /// Hands an event over, unless the link has ended.
    func deliver(_ event: LinkEvent) {
        var event = event as LinkEvent?
        self.deliver {
            if case .closed = event { self.state = .ended }
            return event.take()
        }
    }

    /// Hands events over until `next` returns nil, unless the link has ended.
    func deliver(_ next: () -> LinkEvent?) {
        if case .ended = self.state {
            while next() != nil {}
            return
        }
        self.receiver.receive(next)
    }

    /// The server has let the link in, which is about to be told.
    ///
    /// - Parameter info: what the session knows about it.
    /// - Returns: the same with the carrier.
    func isOpened(_ info: LinkInfo) -> LinkInfo {
        if case .joined(let engine) = self.state { self.state = .open(engine) }
        self.info = info
        return self.infoWithCarrier
    }

    /// The link has ended, which is about to be told.
    ///
    /// - Parameter recovery: what its successor may resume from.
    func isClosed(leaving recovery: SocketIORecovery?) {
        self.keep(recovery)
        self.state = .ended
    }

    func carrierChanged() { self.deliver(.changed(self.infoWithCarrier)) }

    private var infoWithCarrier: LinkInfo {
        var info = self.info
        info.facts["carrier"] = self.openEngine?.carrier?.name
        return info
    }
}
