internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

/// One Engine.IO session with what carries it, and the links of the namespaces on it.
///
/// ``SocketIOSession`` decides; this class brings it frames and time, and carries out what it wants. It lives on its
/// loop.
final class SocketIOEngine {
    /// The session, which has to be looked at in place: reading a member of a value that an object stores copies all of
    /// it.
    struct OwnedSession: ~Copyable {
        var session: SocketIOSession

        func look<Answer>(_ body: (SocketIOSession) -> Answer) -> Answer { body(self.session) }
    }

    /// The time for reading what has arrived when the heartbeat or an attachment is overdue.
    private static let lastLook = Duration.milliseconds(10)

    let key: SocketIOEngines.Key
    let engines: SocketIOEngines
    /// The links that join when the carrier is up.
    var waiting: [SocketIOLink] = []
    /// Nil until the carrier is up, and again after the end.
    // Its methods call nobody but the app's codec, which has no way to the engine, so that no access meets another.
    @exclusivity(unchecked) var owned: OwnedSession?
    /// The links of the session's namespaces, by their indices; nil where the link has ended.
    var links: [SocketIOLink?] = []
    /// The order in which they have sent.
    @exclusivity(unchecked) var turns = SendTurns()
    /// The namespace whose message the server has refused, when the socket ends for that.
    var refusedNamespace: Int?
    private(set) var isClosed = false
    /// The ends of links that have left, which are told when their last words are on their way, or with the end of the
    /// carrier.
    ///
    /// With the links, because another link may have joined a namespace meanwhile.
    var farewells: [(link: SocketIOLink, event: LinkEvent)] = []
    private var choice = CarrierChoice.polling
    /// The instant by which a carrier that may be given up for another one has to have opened the session.
    private var provisionalUntil: Moment?
    /// The reason for which the links go on with another carrier, as soon as the present one has closed.
    private var openingError: LinkspanError?
    /// The carrier that has the session, or is to have it.
    @exclusivity(unchecked) private(set) var ownedCarrier: OwnedCarrier?
    private var timer: (due: Moment, timer: any ScheduledWork)?
    /// Whether the server has opened the session.
    private var isSessionOpen = false
    /// Whether messages may be sent: the carrier is up, and the session is not about to end.
    private(set) var takesMessages = false
    var heartbeatDeadline: Moment?
    private(set) var maximumPayload = Int.max
    /// Since when the heartbeat or an attachment is overdue, and the socket is being read once more before the link ends;
    /// nil while neither is.
    private var lastLookBegan: Moment?
    var isLastLook: Bool { self.lastLookBegan != nil }
    /// Whether a read is being dealt with, so that the server is alive.
    private(set) var isReading = false
    /// The links that want nothing to be read for now.
    var pausing: Set<ObjectIdentifier> = []

    init(key: SocketIOEngines.Key, engines: SocketIOEngines) {
        self.key = key
        self.engines = engines
    }

    private var request: LinkRequest { self.key.request.value }
    private var configuration: SocketIOTransport.Configuration { self.key.configuration }
    var now: Moment { self.engines.loop.moment }

    private(set) var carrier: (any EngineCarrier)? {
        get { self.ownedCarrier?.carrier }
        set { self.ownedCarrier = newValue.map { OwnedCarrier(carrier: $0) } }
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
        case .polling: carrier = PollingCarrier(Boxed(request), loop: loop, handler: self)
        case .upgrade, .laterUpgrade:
            carrier = UpgradingCarrier(
                Boxed(request), beginsLater: choice == .laterUpgrade, loop: loop, handler: self)
        }
        self.choice = choice
        self.provisionalUntil = choice.isProvisional ? self.now + self.request.deadline * choice.share : nil
        self.carrier = carrier
        carrier.open()
    }

    /// The stage of the opening of a link of this engine.
    var openingStage: String {
        if let stage = self.carrier?.openingStage { return "\(stage)" }
        let isNamed = self.owned?.look { $0.handshake != nil } ?? false
        return isNamed ? "waiting for the answer to CONNECT" : "waiting for the Engine.IO handshake"
    }

    /// The values by which a link resumes its namespace elsewhere.
    func recovery(of link: SocketIOLink) -> SocketIORecovery? {
        guard let index = self.index(of: link) else { return nil }
        return self.owned?.look { $0.recovery(of: index) }
    }

    /// The index of a link's namespace; nil when it has none, or has ended.
    func index(of link: SocketIOLink) -> Int? {
        link.index.flatMap { self.link(at: $0) === link ? $0 : nil }
    }

    private func link(at index: Int) -> SocketIOLink? {
        self.links.indices.contains(index) ? self.links[index] : nil
    }
}

extension SocketIOEngine {
    /// Ends the socket when no namespace is left on it (checklist S25).
    func closeIfUnused(politely: Bool) {
        let users = self.owned?.look(\.activeNamespaces) ?? self.waiting.count
        guard !self.isClosed, users == 0, let carrier = self.carrier else { return }
        self.engines.remove(self)
        self.takesMessages = false
        politely ? carrier.close() : carrier.abort()
    }
}

// MARK: - What the carrier reports

extension SocketIOEngine: EngineCarrierHandler {
    func carrierOpened() {
        var output = SocketIOOutput()
        let waiting = self.waiting
        self.waiting = []
        if self.owned == nil, !self.isClosed {
            let session = SocketIOSession(
                limits: SocketIOLimits(self.configuration),
                openTimeout: self.provisionalUntil.map { self.now.duration(to: $0) } ?? self.request.deadline,
                version: self.configuration.protocol.engineIO, codec: self.configuration.codec, now: self.now)
            self.owned = OwnedSession(session: session)
        }
        let joinings = waiting.map { (link: $0, joining: self.letJoin($0, output: &output)) }
        self.takesMessages = true
        self.carryOut(&output)
        for (link, joining) in joinings {
            switch joining {
            case .taken: ()
            case .unacceptable(let error): link.deliver(.closed(error))
            // Cannot happen on a session that has just begun; if it does, another engine has to serve.
            case .unavailable: self.engines.join(link)
            }
        }
        self.closeIfUnused(politely: true)
        self.arm()
    }

    func carrierReceived(_ next: () -> WebSocketMessage?) {
        let now = self.now
        self.isReading = true
        defer { self.isReading = false }
        self.advance { output in
            guard let message = next() else { return false }
            switch consume message {
            case .text(let text): self.owned?.session.receive(text: text, now: now, output: &output)
            case .binary(let data): self.owned?.session.receive(binary: data, now: now, output: &output)
            }
            if !self.isSessionOpen { self.openSession() }
            return true
        }
        // What comes behind the end of the session.
        while next() != nil {}
    }

    func carrierChanged() { for case let link? in self.links where link.isOpen { link.carrierChanged() } }

    func carrierDrained() { for case let link? in self.links where link.isOpen { link.deliver(.writable) } }

    func carrierClosed(_ error: LinkspanError) {
        if self.mayChangeCarrier { self.putLinksBack() }
        let error = self.openingError.take() ?? error
        let failed = self.waiting.isEmpty ? nil : self.choice
        if let failed, let other = self.engines.otherChoice(insteadOf: failed, for: self.key, after: error) {
            return self.open(by: other)
        }
        if error.code == .messageRefused { self.judgeRefusal() }
        self.engines.remove(self)
        self.takesMessages = false
        self.timer?.timer.cancel()
        var output = SocketIOOutput()
        self.owned?.session.streamClosed(error, output: &output)
        let waiting = self.waiting
        (self.waiting, self.isClosed) = ([], true)
        (self.carrier, self.timer) = (nil, nil)
        for link in waiting { link.deliver(.closed(error)) }
        self.deliverFarewells()
        self.carryOut(&output)
        self.links = []
        self.owned = nil
    }
}

// MARK: - Another carrier

extension SocketIOEngine {
    /// Whether the links may go on with another carrier: a proxy can accept the WebSocket and then forward no frames.
    private var mayChangeCarrier: Bool { !self.isSessionOpen && !self.isClosed && self.choice.isProvisional }

    private func changeCarrier(after error: LinkspanError) {
        self.openingError = error
        self.putLinksBack()
        self.carrier?.abort()
    }

    /// Makes the links wait for a carrier once more.
    private func putLinksBack() {
        let joined = self.links.compactMap(\.self)
        for link in joined { link.index = nil }
        self.waiting = joined + self.waiting
        self.owned = nil
        (self.links, self.takesMessages, self.heartbeatDeadline, self.lastLookBegan) = ([], false, nil, nil)
        self.timer.take()?.timer.cancel()
        self.deliverFarewells()
    }
}

// MARK: - The session's wishes

extension SocketIOEngine {
    /// Feeds the session by `feed` until that returns false, and carries out the output.
    private func advance(_ feed: (inout SocketIOOutput) -> Bool) {
        guard self.owned != nil else { return }
        var output = SocketIOOutput()
        let isClosing = self.carryOut(&output, feed)
        // The server may have ended or refused the last namespace.
        if !isClosing { self.closeIfUnused(politely: true) }
    }

    private func openSession() {
        guard let handshake = self.owned?.look(\.handshake) else { return }
        self.isSessionOpen = true
        self.engines.worked(self.choice, for: self.key)
        self.carrier?.sessionOpened(handshake)
    }

    /// Does what the session wants: sends, then delivers, and at last sets the timer or closes.
    ///
    /// - Parameters:
    ///   - output: what it wants.
    ///   - feed: has it take in more; called when all that was wanted before is done. Returns false when there is no more.
    /// - Returns: whether the session ends the stream.
    @discardableResult
    func carryOut(
        _ output: inout SocketIOOutput, _ feed: (inout SocketIOOutput) -> Bool = { _ in false }
    ) -> Bool {
        let carrier = self.carrier
        while true {
            if !output.frames.isEmpty {
                for frame in output.frames.frames { carrier?.send(frame) }
                for packet in output.frames.messages { _ = carrier?.send(packet) }
                output.frames.removeAll()
            }
            if let error = output.close {
                self.takesMessages = false
                if self.mayChangeCarrier {
                    self.changeCarrier(after: error)
                    return true
                }
            }
            if let namespace = output.nextNamespace {
                self.deliver(&output, of: namespace, to: self.link(at: namespace), feed)
            } else if output.close != nil || !feed(&output) {
                break
            }
        }
        if output.hasNewDeadlines { self.arm() }
        if let beat = output.heartbeat { for link in self.links { link?.heard(beat) } }
        guard output.close != nil else { return false }
        self.engines.remove(self)
        carrier?.close()
        return true
    }

    /// Hands a link its events, for as long as nothing else is to be done.
    private func deliver(
        _ output: inout SocketIOOutput, of namespace: Int, to link: SocketIOLink?,
        _ feed: (inout SocketIOOutput) -> Bool
    ) {
        guard let link else {
            while output.takeEvent(of: namespace) != nil {}
            return
        }
        link.deliver { () -> LinkEvent? in
            while true {
                if let event = output.takeEvent(of: namespace) {
                    switch event {
                    case .message, .changed, .writable: ()
                    case .reply(let request, _): self.turns.answered(request, in: link.turn)
                    case .opened(let info):
                        // Version 3 lets links into `/` without a CONNECT.
                        if self.configuration.protocol == .v4 { self.turns.accepted(link.turn) }
                        let mayResume = self.recovery(of: link) != nil
                        return .opened(link.isOpened(info, mayResume: mayResume))
                    case .closed(let error):
                        link.isClosed(leaving: self.owned?.look { $0.recovery(of: namespace) } ?? nil)
                        let cause = self.causeOfEnd(error, of: namespace)
                        // A pause ends with its link, unless the socket ends: then it may be the reason for all.
                        if output.close == nil, !self.isClosed { self.setReadingPaused(false, for: link) }
                        self.letGo(of: link, at: namespace)
                        return .closed(cause)
                    }
                    return event
                }
                guard output.isEmpty, feed(&output) else { return nil }
            }
        }
    }

    /// Makes sure that a timer runs for the session's next deadline, and notes what senders look at.
    private func arm() {
        let deadlines = self.owned?.look { ($0.nextDeadline, $0.heartbeatDeadline, $0.maximumPayload) }
        guard let deadlines, let due = deadlines.0 else { return }
        (_, self.heartbeatDeadline, self.maximumPayload) = deadlines
        guard self.timer.map({ due < $0.due }) ?? true else { return }
        self.timer?.timer.cancel()
        let timer = self.engines.loop.scheduleLocally(after: self.now.duration(to: due)) {
            self.timer = nil
            self.timerFired()
        }
        self.timer = (due, timer)
    }

    func timerFired() {
        let isAttachmentOverdue = self.isAttachmentOverdue()
        if self.isOverdue() || isAttachmentOverdue, !self.isLastLook {
            // What has arrived meanwhile is to be read before a server is called dead: perhaps this side was busy.
            let now = self.now
            self.lastLookBegan = now
            self.timer?.timer.cancel()
            self.timer = (now, self.engines.loop.scheduleLocally(after: Self.lastLook) { self.timerFired() })
            return
        }
        let look = self.lastLookBegan.take()
        if let look, let heard = self.carrier?.lastHeard, heard >= look {
            // Handling what was read may have taken as long as the server may be silent: more may have arrived since.
            self.owned?.session.heard(at: self.now)
        }
        self.timer.take()?.timer.cancel()
        var isDue = true
        self.advance { output in
            guard isDue else { return false }
            isDue = false
            output.hasNewDeadlines = true
            self.owned?.session.timer(now: self.now, isReceiving: self.isReceiving, output: &output)
            return true
        }
        // What was refused meanwhile.
        if look != nil { self.carrierDrained() }
    }
}
