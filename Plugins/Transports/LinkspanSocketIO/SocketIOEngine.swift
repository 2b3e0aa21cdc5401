internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

/// One Engine.IO session with what carries it, and the links of the namespaces on it.
///
/// ``SocketIOSession`` decides; this class brings it frames and time, and carries out what it wants. It lives on its
/// loop.
final class SocketIOEngine {
    private enum Phase {
        /// The carrier is not up yet; these links join when it is.
        case connecting([SocketIOLink])
        case open(SocketIOSession, links: [Int: SocketIOLink])
        case closed
    }

    let key: SocketIOEngines.Key
    private let request: LinkRequest
    let engines: SocketIOEngines
    private var phase = Phase.connecting([])
    private var choice = CarrierChoice.polling
    /// What has the session, or is to have it.
    private(set) var carrier: (any EngineCarrier)?
    private var timer: (due: ContinuousClock.Instant, timer: any ScheduledWork)?
    /// Whether messages may be sent: the carrier is up, and the session is not about to end.
    private(set) var takesMessages = false
    private(set) var heartbeatDeadline: ContinuousClock.Instant?
    private(set) var maximumPayload = Int.max
    /// Whether a read is being dealt with, so that the server is alive.
    private(set) var isReading = false
    /// The links that want nothing to be read for now.
    var pausing: Set<ObjectIdentifier> = []

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
        self.choice = choice
        self.carrier = carrier
        carrier.open()
    }

    /// What a link needs to resume its namespace elsewhere.
    func recovery(of link: SocketIOLink) -> SocketIORecovery? {
        guard case .open(let session, let links) = self.phase,
            let index = links.first(where: { $0.value === link })?.key
        else { return nil }
        return session.recovery(of: index)
    }
}

// MARK: - Links come and go

extension SocketIOEngine {
    /// What becomes of a link that wants in.
    private enum Joining {
        case taken
        /// It can join nowhere: it has ended.
        case unacceptable(LinkspanError)
        /// It needs another engine.
        case unavailable
    }

    /// Takes a link, or says that it cannot be had on this engine.
    func join(_ link: SocketIOLink) -> Bool {
        var output = SocketIOOutput()
        let joining: Joining
        switch self.phase {
        case .connecting(let links):
            guard !links.contains(where: { $0.joinedNamespace == link.joinedNamespace }) else { return false }
            self.phase = .connecting(links + [link])
            joining = .taken
        case .open(var session, var links):
            self.phase = .closed  // So that session and links have one owner while they change.
            joining = Self.join(link, &session, &links, output: &output)
            self.phase = .open(session, links: links)
        case .closed: return false
        }
        switch joining {
        case .taken: link.isJoined(to: self)
        case .unacceptable(let error): link.deliver([.closed(error)])
        case .unavailable: return false
        }
        self.carryOut(consume output)
        return true
    }

    func leave(_ link: SocketIOLink, politely: Bool) {
        let reason = LinkspanError(.connectionLost, "closed by this side")
        var output = SocketIOOutput()
        switch self.phase {
        case .connecting(let links):
            self.phase = .connecting(links.filter { $0 !== link })
            link.deliver([.closed(reason)])
        case .open(var session, let links):
            guard let index = links.first(where: { $0.value === link })?.key else { break }
            if politely || session.activeNamespaces > 1 {
                session.leave(index, reason: reason, output: &output)
            } else {
                // Given up without a word: the server may let the next link resume.
                session.streamClosed(reason, output: &output)
                Self.keepRecoveries(session, links)
            }
            self.phase = .open(session, links: links)
        case .closed: ()
        }
        self.setReadingPaused(false, for: link)
        self.carryOut(consume output)
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
        let isUnused =
            switch self.phase {
            case .connecting(let links): links.isEmpty
            case .open(let session, _): session.activeNamespaces == 0
            case .closed: false
            }
        guard isUnused, let carrier = self.carrier else { return }
        self.engines.remove(self)
        self.takesMessages = false
        politely ? carrier.close() : carrier.abort()
    }
}

// MARK: - What the carrier reports

extension SocketIOEngine: EngineCarrierHandler {
    func carrierOpened() {
        var output = SocketIOOutput()
        var joinings: [(link: SocketIOLink, joining: Joining)] = []
        if case .connecting(let waiting) = self.phase {
            var session = SocketIOSession(
                limits: self.limits, openTimeout: self.request.deadline, version: self.configuration.protocol.engineIO,
                codec: self.configuration.codec, now: .now)
            var links: [Int: SocketIOLink] = [:]
            for link in waiting { joinings.append((link, Self.join(link, &session, &links, output: &output))) }
            self.phase = .open(session, links: links)
        }
        self.takesMessages = true
        self.carryOut(consume output)
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
        self.isReading = true
        defer { self.isReading = false }
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
        guard case .open(_, let links) = self.phase else { return }
        for link in links.values { link.deliver([.writable]) }
    }

    func carrierClosed(_ error: LinkspanError) {
        var failed: CarrierChoice?
        if case .connecting(let links) = self.phase, !links.isEmpty { failed = self.choice }
        if let failed, let other = self.engines.otherChoice(insteadOf: failed, for: self.key, after: error) {
            return self.open(by: other)
        }
        self.engines.remove(self)
        self.takesMessages = false
        self.timer?.timer.cancel()
        let phase = self.phase
        (self.phase, self.carrier, self.timer) = (.closed, nil, nil)
        switch phase {
        case .connecting(let waiting):
            for link in waiting { link.deliver([.closed(error)]) }
        case .open(var session, let links):
            var output = SocketIOOutput()
            session.streamClosed(error, output: &output)
            Self.keepRecoveries(session, links)
            Self.deliver(output.batches, to: links)
        case .closed: ()
        }
    }
}

// MARK: - The session's wishes

extension SocketIOEngine {
    /// Lets the session take something in, and carries out what comes of it.
    private func advance(_ body: (inout SocketIOSession, inout SocketIOOutput) -> Void) {
        guard case .open(var session, let links) = self.phase else { return }
        var output = SocketIOOutput()
        self.phase = .closed  // So that the session has one owner while it changes.
        let wasOpen = session.handshake != nil
        body(&session, &output)
        let opened = wasOpen ? nil : session.handshake
        let isUnused = session.activeNamespaces == 0
        if isUnused { Self.keepRecoveries(session, links) }
        self.phase = .open(session, links: links)
        if let opened {
            self.engines.worked(self.choice, for: self.key)
            self.carrier?.sessionOpened(opened)
        }
        let isClosing = output.close != nil
        self.carryOut(consume output)
        // The server may have ended or refused the last namespace.
        if isUnused, !isClosing { self.closeIfUnused(politely: true) }
        self.arm()
    }

    private func carryOut(_ output: consuming SocketIOOutput) {
        guard !output.isEmpty else { return }
        let carrier = self.carrier
        var links: [Int: SocketIOLink] = [:]
        if case .open(_, let joined) = self.phase { links = joined }
        for frame in output.frames.frames { carrier?.send(frame) }
        for packet in output.frames.messages { _ = carrier?.send(packet) }
        if output.close != nil { self.takesMessages = false }
        let isClosing = output.close != nil
        Self.deliver(output.takeBatches(), to: links)
        if isClosing {
            self.engines.remove(self)
            carrier?.close()
        }
    }

    /// Leaves with each link what its successor may resume from.
    private static func keepRecoveries(_ session: SocketIOSession, _ links: [Int: SocketIOLink]) {
        for (index, link) in links { link.keep(session.recovery(of: index)) }
    }

    private static func deliver(_ batches: consuming [NamespaceBatch], to links: [Int: SocketIOLink]) {
        // Taken out, so that each link owns its events alone.
        for index in batches.indices { links[batches[index].namespace]?.deliver(batches[index].takeEvents()) }
    }

    /// Makes sure that a timer runs for the session's next deadline, and notes what senders look at.
    private func arm() {
        guard case .open(let session, _) = self.phase, let due = session.nextDeadline else { return }
        self.heartbeatDeadline = session.heartbeatDeadline
        self.maximumPayload = session.handshake?.maxPayload ?? .max
        guard self.timer.map({ due < $0.due }) ?? true else { return }
        self.timer?.timer.cancel()
        let timer = self.engines.loop.scheduleLocally(after: ContinuousClock.now.duration(to: due)) {
            self.timer = nil
            self.timerFired()
        }
        self.timer = (due, timer)
    }

    func timerFired() {
        self.advance { session, output in session.timer(now: .now, output: &output) }
    }
}
