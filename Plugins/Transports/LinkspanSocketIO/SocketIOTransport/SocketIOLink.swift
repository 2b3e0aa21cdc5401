internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// A link over one namespace of an engine; lives on the engine's loop.
final class SocketIOLink: Link {
    private enum State: Equatable {
        case idle
        /// On the engine, and not in the namespace yet.
        case joined
        case open
        /// Its last words are on their way.
        case leaving
        /// Given up, with a session of whose end the server is still being told.
        case givenUp
        case ended
    }

    let key: EngineKey
    private let engines: SocketIOEngines
    private let receiver: any LinkReceiver
    let namespace: SocketIONamespace
    /// The reason why the URL names no namespace.
    private let problem: LinkspanError?
    private let limits: SocketIOLimits
    /// Whether the app has a codec: a look at the codec itself would retain it for each message.
    private let hasCodec: Bool
    private var state = State.idle
    /// The engine of the link from joining to its end.
    @exclusivity(unchecked) private var owned: Owned<SocketIOEngine>?
    /// The index of its namespace in the engine's session, while it has one.
    var index: Int?
    /// The numbers of its requests on the wire.
    @exclusivity(unchecked) var acks = AckNumbers()
    /// The turn in which it has sent last.
    @exclusivity(unchecked) var turn = SendTurns.Turn()
    /// The values that the next link resumes from; looked at in each read.
    private var recovery: Recovery
    /// The facts about the link since it is open, besides its carrier.
    private var info = LinkInfo()

    private enum Recovery {
        /// The values that the link was made with, later those that the engine left when the namespace ended.
        case kept(Boxed<SocketIORecovery>?)
        /// The link is left on purpose, or the server offers no recovery.
        case renounced
    }

    init(
        request: LinkRequest, settings: Boxed<SocketIOSettings>, engines: SocketIOEngines,
        receiver: any LinkReceiver
    ) {
        self.key = EngineKey(Boxed(request), settings)
        self.engines = engines
        self.receiver = receiver
        self.recovery = .kept(request.resumption.flatMap(SocketIORecovery.init).map { Boxed($0) })
        do throws(LinkspanError) {
            (self.namespace, self.problem) = (try SocketIONamespace(request.url.path), nil)
        } catch {
            (self.namespace, self.problem) = (.main, error)
        }
        self.limits = .with(maximumMessageBytes: settings.value.configuration.maximumMessageBytes)
        self.hasCodec = settings.value.configuration.codec != nil
    }

    private var configuration: SocketIOConfiguration { self.key.configuration }

    func open() {
        self.engines.loop.executeLocally {
            // A link that was ended before it could begin must not join: nobody would ever have it leave.
            guard self.state == .idle else { return }
            if let problem = self.problem { return self.deliver(.closed(problem)) }
            self.engines.join(self, self.key) { engine in
                guard self.state == .idle else { return }
                self.state = .joined
                self.owned = Owned(engine)
            }
        }
    }

    func send(_ message: OutboundMessage) -> SendAcceptance {
        guard self.state == .open else { return .refused }
        switch self.owned {
        case .some(let owned): return self.send(message, on: owned.object)
        case nil: return .refused
        }
    }

    private func send(_ message: OutboundMessage, on engine: SocketIOEngine) -> SendAcceptance {
        let id = self.note(message, on: engine)
        let (event, payload) = (message.event, message.payload)
        if let problem = SocketIOEncoder.problem(event: event, payload, limits: self.limits) {
            return .rejected(problem)
        }
        if self.hasCodec, let codec = self.configuration.codec {
            let packet = SocketIOCodecPacket(
                .event, namespace: self.namespace.name, id: id, event: event, payload: payload)
            return engine.send(packet, by: codec, isCompressible: message.isCompressible)
        }
        return SocketIOEncoder.withWritten(event) { name in
            let length = SocketIOEncoder.length(written: name.count, payload, id: id, in: self.namespace)
            return engine.send(payload, length: length, isCompressible: message.isCompressible) {
                SocketIOEncoder.write(event: name, payload, id: id, in: self.namespace, to: &$0)
            }
        }
    }

    /// Notes a message that is about to be sent.
    ///
    /// - Returns: the number of its acknowledgement, if it is a request.
    private func note(_ message: OutboundMessage, on engine: SocketIOEngine) -> UInt64? {
        guard let request = message.requestID else {
            engine.noteSend(in: &self.turn)
            return nil
        }
        engine.noteSend(in: &self.turn, request: self.acks.isNew(request) ? request : nil)
        return self.acks.number(of: request)
    }

    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance {
        guard let engine = self.openEngine else { return .refused }
        if let problem = SocketIOEncoder.problem(payload, limits: self.limits) { return .rejected(problem) }
        engine.noteSend(in: &self.turn)
        if self.hasCodec, let codec = self.configuration.codec {
            let packet = SocketIOCodecPacket(.acknowledgement, namespace: self.namespace.name, id: id, payload: payload)
            return engine.send(packet, by: codec)
        }
        let length = SocketIOEncoder.length(ack: id, payload, in: self.namespace)
        return engine.send(payload, length: length) {
            SocketIOEncoder.write(ack: id, payload, in: self.namespace, to: &$0)
        }
    }

    func renewCredentials(_ credentials: Credentials) -> Bool {
        self.sendRenewal(credentials, by: self.configuration.renewalEvent)
    }

    func close(code: UInt16?, reason: String) { self.leave(politely: true) }

    func abort() { self.leave(politely: false) }

    func setReadingPaused(_ isPaused: Bool) { self.openEngine?.setReadingPaused(isPaused, for: self) }

    var resumption: Secret? {
        guard case .kept(let kept) = self.recovery else { return nil }
        guard let engine = self.openEngine else { return kept?.value.exported }
        return engine.recovery(of: self)?.exported
    }

    /// As a job, because the receiver may be called at once.
    private func leave(politely: Bool) {
        if politely { self.recovery = .renounced }
        self.engines.loop.executeLocally {
            switch self.state {
            case .joined, .open:
                self.state = politely ? .leaving : .givenUp
                self.owned?.object.leave(self, politely: politely)
            case .leaving: if !politely { self.owned?.object.endFarewells(of: self) }
            case .givenUp: ()
            case .idle, .ended: self.deliver(.closed(LinkspanError(.connectionLost, "closed by this side")))
            }
        }
    }

    var hasPendingBytes: Bool { self.openEngine?.carrier?.hasPendingBytes ?? false }

    var openingStage: String? {
        self.state == .joined ? self.owned?.object.openingStage : nil
    }

    var isOpen: Bool { self.openEngine != nil }

    var openEngine: SocketIOEngine? { self.state == .open ? self.owned?.object : nil }

    private func end() {
        self.state = .ended
        self.owned = nil
    }
}

// MARK: - For the engine

extension SocketIOLink {
    /// Keeps the values from which the next link resumes the namespace.
    func keep(_ recovery: SocketIORecovery?) {
        if case .kept = self.recovery { self.recovery = .kept(recovery.map { Boxed($0) }) }
    }

    /// Passes an event to the receiver, unless the link has ended.
    func deliver(_ event: LinkEvent) {
        var event = event as LinkEvent?
        self.deliver {
            if case .closed = event { self.end() }
            return event.take()
        }
    }

    /// Passes events to the receiver until `next` returns nil, unless the link has ended.
    func deliver(_ next: () -> LinkEvent?) {
        if self.state == .ended {
            while next() != nil {}
            return
        }
        self.receiver.receive(next)
    }

    /// Called before `opened` is delivered.
    ///
    /// - Parameters:
    ///   - info: the session's facts.
    ///   - mayResume: whether the server offers recovery.
    /// - Returns: the facts with the carrier.
    func willOpen(_ info: LinkInfo, mayResume: Bool) -> LinkInfo {
        if !mayResume { self.recovery = .renounced }
        if self.state == .joined { self.state = .open }
        self.info = info
        self.noteCarrier()
        return self.info
    }

    /// Called before `closed` is delivered.
    func willClose(leaving recovery: SocketIORecovery?) {
        self.keep(recovery)
        self.end()
    }

    /// The server has sent a sign of life on the socket.
    func heard(_ beat: SocketIOOutput.Beat) {
        guard self.isOpen else { return }
        switch beat {
        case .heard: self.deliver { nil }
        case .answered(let roundTrip):
            self.info.roundTrip = roundTrip
            self.deliver(.changed(self.info))
        }
    }

    func carrierChanged() {
        self.noteCarrier()
        self.deliver(.changed(self.info))
    }

    private func noteCarrier() {
        self.info.facts["carrier"] = self.openEngine?.carrier?.name
        self.info.facts = self.engines.shared(self.info.facts)
    }
}
