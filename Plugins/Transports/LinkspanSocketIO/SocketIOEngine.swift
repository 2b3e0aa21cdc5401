internal import Linkspan
internal import LinkspanLWS
internal import LinkspanRuntime
internal import LinkspanWebSocketClient

/// One Engine.IO session with what carries it, and the links of the namespaces on it.
///
/// ``SocketIOSession`` decides; this class brings it frames and time, and carries out what it wants. Everything but
/// sending happens on the loop's thread, so the session's lock is never waited for.
final class SocketIOEngine: Sendable {
    private enum Phase: Sendable {
        /// The carrier is not up yet; these links join when it is.
        case connecting([SocketIOLink])
        case open(SocketIOSession, links: [Int: SocketIOLink])
        case closed
    }

    private struct State: Sendable {
        var phase = Phase.connecting([])
        var choice = CarrierChoice.polling
        var carrier: (any EngineCarrier)?
        var timer: (due: ContinuousClock.Instant, timer: LoopTimer)?
    }

    let key: SocketIOEngines.Key
    private let request: LinkRequest
    let engines: SocketIOEngines
    private let state = Lock(State())
    let gate = Lock(Gate())

    init(key: SocketIOEngines.Key, request: LinkRequest, engines: SocketIOEngines) {
        self.key = key
        self.request = request
        self.engines = engines
    }

    private var configuration: SocketIOTransport.Configuration { self.key.configuration }

    private var limits: SocketIOLimits {
        var limits = SocketIOLimits()
        limits.maximumMessageBytes = self.configuration.maximumMessageBytes
        return limits
    }

    func open() { self.open(by: self.engines.choice(for: self.key)) }

    private func open(by choice: CarrierChoice) {
        let loop = self.engines.loop
        let request = CarrierRequest(link: self.request, configuration: self.configuration)
        let carrier: any EngineCarrier
        switch choice {
        case .webSocket(let share):
            let webSocket = request.webSocket(sid: nil, cookie: nil, deadline: self.request.deadline * share)
            carrier = WebSocketCarrier(webSocket, version: request.version, loop: loop, handler: self)
        case .polling: carrier = PollingCarrier(request, loop: loop, handler: self)
        case .upgrade: carrier = UpgradingCarrier(request, loop: loop, handler: self)
        }
        self.state.withLock { state in
            state.choice = choice
            state.carrier = carrier
        }
        carrier.open()
    }

    /// What has the session, or is to have it.
    var carrier: (any EngineCarrier)? { self.state.withLock { $0.carrier } }

    /// What a link needs to resume its namespace elsewhere.
    func recovery(of link: SocketIOLink) -> SocketIORecovery? {
        self.state.withLock { state in
            guard case .open(let session, let links) = state.phase,
                let index = links.first(where: { $0.value === link })?.key
            else { return nil }
            return session.recovery(of: index)
        }
    }
}

// MARK: - Links come and go

extension SocketIOEngine {
    /// What becomes of a link that wants in.
    private enum Joining: Sendable {
        case taken
        /// It can join nowhere: it has ended.
        case unacceptable(LinkspanError)
        /// It needs another engine.
        case unavailable
    }

    /// Takes a link, or says that it cannot be had on this engine.
    func join(_ link: SocketIOLink) -> Bool {
        var output = SocketIOOutput()
        let joining = self.state.withLock { state -> Joining in
            switch state.phase {
            case .connecting(let links):
                guard !links.contains(where: { $0.joinedNamespace == link.joinedNamespace }) else {
                    return .unavailable
                }
                state.phase = .connecting(links + [link])
                return .taken
            case .open(var session, var links):
                state.phase = .closed  // So that session and links have one owner while they change.
                defer { state.phase = .open(session, links: links) }
                return Self.join(link, &session, &links, output: &output)
            case .closed:
                return .unavailable
            }
        }
        switch joining {
        case .taken: link.isJoined(to: self)
        case .unacceptable(let error): link.deliver([.closed(error)])
        case .unavailable: return false
        }
        self.carryOut(output)
        return true
    }

    func leave(_ link: SocketIOLink, politely: Bool) {
        let reason = LinkspanError(.connectionLost, "closed by this side")
        var output = SocketIOOutput()
        let wasWaiting = self.state.withLock { state in
            switch state.phase {
            case .connecting(let links):
                state.phase = .connecting(links.filter { $0 !== link })
                return true
            case .open(var session, let links):
                guard let index = links.first(where: { $0.value === link })?.key else { return false }
                if politely || session.activeNamespaces > 1 {
                    session.leave(index, reason: reason, output: &output)
                } else {
                    // Given up without a word: the server may let the next link resume.
                    session.streamClosed(reason, output: &output)
                    Self.keepRecoveries(session, links)
                }
                state.phase = .open(session, links: links)
                return false
            case .closed:
                return false
            }
        }
        if wasWaiting { link.deliver([.closed(reason)]) }
        self.carryOut(output)
        self.closeIfUnused(politely: politely)
    }

    private static func join(
        _ link: SocketIOLink, _ session: inout SocketIOSession, _ links: inout [Int: SocketIOLink],
        output: inout SocketIOOutput
    ) -> Joining {
        do throws(LinkspanError) {
            let index = try session.join(
                link.joinedNamespace, auth: link.request.credentials.auth,
                recovery: link.request.resumption.flatMap(SocketIORecovery.init), timeout: link.request.deadline,
                now: .now, output: &output)
            links[index] = link
            return .taken
        } catch {
            return error.code == .wrongState ? .unavailable : .unacceptable(error)
        }
    }

    /// Ends the socket when no namespace is left on it (checklist S25).
    private func closeIfUnused(politely: Bool) {
        let carrier = self.state.withLock { state -> (any EngineCarrier)? in
            switch state.phase {
            case .connecting(let links): links.isEmpty ? state.carrier : nil
            case .open(let session, _): session.activeNamespaces > 0 ? nil : state.carrier
            case .closed: nil
            }
        }
        guard let carrier else { return }
        self.engines.remove(self)
        self.gate.withLock { $0.carrier = nil }
        politely ? carrier.close() : carrier.abort()
    }
}

// MARK: - What the carrier reports, on the loop's thread

extension SocketIOEngine: EngineCarrierHandler {
    func carrierOpened() {
        var output = SocketIOOutput()
        var joinings: [(link: SocketIOLink, joining: Joining)] = []
        self.state.withLock { state in
            guard case .connecting(let waiting) = state.phase else { return }
            var session = SocketIOSession(
                limits: self.limits, openTimeout: self.request.deadline, version: self.configuration.protocol.engineIO,
                codec: self.configuration.codec, now: .now)
            var links: [Int: SocketIOLink] = [:]
            for link in waiting { joinings.append((link, Self.join(link, &session, &links, output: &output))) }
            state.phase = .open(session, links: links)
        }
        let carrier = self.carrier
        self.gate.withLock { $0.carrier = carrier }
        self.carryOut(output)
        for (link, joining) in joinings {
            switch joining {
            case .taken: ()
            case .unacceptable(let error): link.deliver([.closed(error)])
            // Cannot happen on a session that has just begun; if it does, another engine has to serve.
            case .unavailable: self.engines.join(link)
            }
        }
        self.closeIfUnused(politely: true)
        self.arm()
    }

    func carrierReceived(_ messages: [WebSocketMessage]) {
        let now = ContinuousClock.now
        self.advance { session, output in
            for message in messages {
                switch message {
                case .text(let text): session.receive(text: text, now: now, output: &output)
                case .binary(let data): session.receive(binary: data, now: now, output: &output)
                }
            }
        }
    }

    func carrierDrained() {
        let links = self.state.withLock { state -> [SocketIOLink] in
            if case .open(_, let links) = state.phase { Array(links.values) } else { [] }
        }
        for link in links { link.deliver([.writable]) }
    }

    func carrierClosed(_ error: LinkspanError) {
        let failed = self.state.withLock { state -> CarrierChoice? in
            if case .connecting(let links) = state.phase, !links.isEmpty { state.choice } else { nil }
        }
        if let failed, let other = self.engines.otherChoice(insteadOf: failed, for: self.key, after: error) {
            return self.open(by: other)
        }
        self.engines.remove(self)
        self.gate.withLock { $0.carrier = nil }
        var output = SocketIOOutput()
        let (waiting, links, timer) = self.state.withLock {
            state -> ([SocketIOLink], [Int: SocketIOLink], LoopTimer?) in
            defer {
                state.phase = .closed
                state.carrier = nil
                state.timer = nil
            }
            switch state.phase {
            case .connecting(let waiting):
                return (waiting, [:], state.timer?.timer)
            case .open(var session, let links):
                session.streamClosed(error, output: &output)
                Self.keepRecoveries(session, links)
                return ([], links, state.timer?.timer)
            case .closed:
                return ([], [:], state.timer?.timer)
            }
        }
        timer?.cancel()
        for link in waiting { link.deliver([.closed(error)]) }
        Self.deliver(output.deliveries, to: links)
    }
}

// MARK: - The session's wishes

extension SocketIOEngine {
    /// Lets the session take something in, and carries out what comes of it.
    private func advance(_ body: (inout SocketIOSession, inout SocketIOOutput) -> Void) {
        var output = SocketIOOutput()
        var opened: EngineIOHandshake?
        let isUnused = self.state.withLock { state in
            guard case .open(var session, let links) = state.phase else { return false }
            state.phase = .closed  // So that the session has one owner while it changes.
            let wasOpen = session.handshake != nil
            body(&session, &output)
            if !wasOpen { opened = session.handshake }
            let isUnused = session.activeNamespaces == 0
            if isUnused { Self.keepRecoveries(session, links) }
            state.phase = .open(session, links: links)
            return isUnused
        }
        if let opened {
            let (choice, carrier) = self.state.withLock { ($0.choice, $0.carrier) }
            self.engines.worked(choice, for: self.key)
            carrier?.sessionOpened(opened)
        }
        self.carryOut(output)
        // The server may have ended or refused the last namespace.
        if isUnused, output.close == nil { self.closeIfUnused(politely: true) }
        self.arm()
    }

    private func carryOut(_ output: SocketIOOutput) {
        guard !output.isEmpty else { return }
        let (carrier, links) = self.state.withLock { state -> ((any EngineCarrier)?, [Int: SocketIOLink]) in
            guard case .open(_, let links) = state.phase else { return (state.carrier, [:]) }
            return (state.carrier, links)
        }
        for frame in output.frames.frames { carrier?.send(frame) }
        for packet in output.frames.messages { _ = carrier?.send(packet) }
        if output.close != nil { self.gate.withLock { $0.carrier = nil } }
        Self.deliver(output.deliveries, to: links)
        if output.close != nil {
            self.engines.remove(self)
            carrier?.close()
        }
    }

    /// Leaves with each link what its successor may resume from.
    private static func keepRecoveries(_ session: SocketIOSession, _ links: [Int: SocketIOLink]) {
        for (index, link) in links { link.keep(session.recovery(of: index)) }
    }

    /// Hands deliveries to their links, neighbours of one link together.
    private static func deliver(_ deliveries: [Delivery], to links: [Int: SocketIOLink]) {
        var index = deliveries.startIndex
        while index < deliveries.endIndex {
            let namespace = deliveries[index].namespace
            let end = deliveries[index...].firstIndex { $0.namespace != namespace } ?? deliveries.endIndex
            links[namespace]?.deliver(deliveries[index..<end].map(\.event))
            index = end
        }
    }

    /// Makes sure that a timer runs for the session's next deadline, and tells senders of the heartbeat's.
    private func arm() {
        let found = self.state.withLock { state -> (due: ContinuousClock.Instant, gate: (inout Gate) -> Void)? in
            guard case .open(let session, _) = state.phase, let due = session.nextDeadline else { return nil }
            let heartbeat = session.heartbeatDeadline
            let maximum = session.handshake?.maxPayload ?? .max
            return (
                due,
                {
                    $0.heartbeatDeadline = heartbeat; $0.maximumPayload = maximum
                }
            )
        }
        guard let (due, update) = found else { return }
        self.gate.withLock { update(&$0) }
        guard self.state.withLock({ $0.timer.map { due < $0.due } ?? true }) else { return }
        let timer = self.engines.loop.schedule(after: ContinuousClock.now.duration(to: due)) { [weak self] in
            self?.state.withLock { $0.timer = nil }
            self?.timerFired()
        }
        let former = self.state.withLock { state in
            defer { state.timer = (due, timer) }
            return state.timer?.timer
        }
        former?.cancel()
    }

    func timerFired() {
        self.advance { session, output in session.timer(now: .now, output: &output) }
    }
}
