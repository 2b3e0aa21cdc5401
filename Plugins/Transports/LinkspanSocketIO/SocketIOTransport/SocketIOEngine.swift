internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

/// One Engine.IO session with its carrier and the links of its namespaces; lives on its loop.
///
/// ``SocketIOSession`` decides; this class brings it frames and time, and carries out its output.
final class SocketIOEngine {
    /// The session, which is read in place: a member of a value that an object stores is read from a copy of all of it.
    struct OwnedSession: ~Copyable {
        var session: SocketIOSession

        func look<Answer>(_ body: (SocketIOSession) -> Answer) -> Answer { body(self.session) }
    }

    let key: EngineKey
    let loop: any NetworkLoop
    private let memory: Confined<CarrierMemory>
    /// Called when the engine takes no more links.
    private let onRetired: (SocketIOEngine) -> Void
    var links = EngineLinks()
    /// Nil until the carrier is up, and again after the end.
    // Its methods call nobody but the app's codec, which has no way to the engine, so that no access meets another.
    @exclusivity(unchecked) var owned: OwnedSession?
    /// The order in which the links have sent.
    @exclusivity(unchecked) var turns = SendTurns()
    /// The namespace whose message the server has refused, when the socket ends for that.
    private var refusedNamespace: Int?
    private(set) var phase = Phase.opening
    private var attempt: CarrierAttempt
    /// The carrier that has the session, or is to have it.
    @exclusivity(unchecked) private(set) var ownedCarrier: Owned<any EngineCarrier>?
    private var timer: (due: Moment, work: any ScheduledWork)?
    private(set) var liveness = Liveness()
    private(set) var maximumPayload = Int.max
    /// Whether a read is being dealt with, so that the server is alive.
    private(set) var isReading = false

    enum Phase {
        case opening
        /// The carrier is up, so that messages may be sent.
        case open
        /// The session is about to end.
        case ending
        case ended
    }

    init(
        key: EngineKey, loop: any NetworkLoop, memory: Confined<CarrierMemory>,
        onRetired: @escaping (SocketIOEngine) -> Void
    ) {
        self.key = key
        self.loop = loop
        self.memory = memory
        self.onRetired = onRetired
        let choice = memory.value.choice(for: key.place, key.configuration.carriers, now: loop.moment)
        self.attempt = CarrierAttempt(choice, deadline: key.request.deadline, now: loop.moment)
    }

    private var configuration: SocketIOConfiguration { self.key.configuration }
    var now: Moment { self.loop.moment }

    private(set) var carrier: (any EngineCarrier)? {
        get { self.ownedCarrier?.object }
        set { self.ownedCarrier = newValue.map { Owned($0) } }
    }

    /// Opens the carrier of the attempt.
    func open() {
        let carrier = self.attempt.makeCarrier(self.key, loop: self.loop, handler: self)
        self.carrier = carrier
        carrier.open()
    }

    /// The stage of the opening of a link of this engine.
    var openingStage: String {
        if let stage = self.carrier?.openingStage { return "\(stage)" }
        let isNamed = self.owned?.look { $0.handshake != nil } ?? false
        return isNamed ? "waiting for the answer to CONNECT" : "waiting for the Engine.IO handshake"
    }

    /// Whether a frame has come in part, as far as anything is read.
    var isReceiving: Bool { !self.links.isReadingPaused && self.carrier?.isReceiving == true }

    /// Ends the socket when no namespace is left on it (checklist S25).
    func closeIfUnused(politely: Bool) {
        let users = self.owned?.look(\.activeNamespaces) ?? self.links.waiting.count
        guard self.phase != .ended, users == 0, let carrier = self.carrier else { return }
        self.retire()
        politely ? carrier.close() : carrier.abort()
    }

    /// Takes no more links and no more messages.
    private func retire() {
        self.onRetired(self)
        self.phase = .ending
    }
}

// MARK: - What the carrier reports

extension SocketIOEngine: EngineCarrierHandler {
    func opened() {
        var output = SocketIOOutput()
        if self.owned == nil, self.phase != .ended {
            let session = SocketIOSession(
                limits: .with(maximumMessageBytes: self.configuration.maximumMessageBytes),
                openTimeout: self.attempt.timeout(within: self.key.request.deadline, now: self.now),
                version: self.configuration.protocol.engineIO, codec: self.configuration.codec, now: self.now)
            self.owned = OwnedSession(session: session)
        }
        var refused: [(link: SocketIOLink, error: LinkspanError)] = []
        for link in self.links.takeWaiting() {
            do throws(LinkspanError) {
                try self.seat(link, output: &output)
            } catch {
                refused.append((link, error))
            }
        }
        self.phase = .open
        self.carryOut(&output)
        for (link, error) in refused { link.deliver(.closed(error)) }
        self.closeIfUnused(politely: true)
        self.arm()
    }

    func received(_ next: () -> WebSocketMessage?) {
        let now = self.now
        self.isReading = true
        defer { self.isReading = false }
        self.advance { output in
            guard let message = next() else { return false }
            switch consume message {
            case .text(let text): self.owned?.session.receive(text: text, now: now, output: &output)
            case .binary(let data): self.owned?.session.receive(binary: data, now: now, output: &output)
            }
            if !self.attempt.hasSession { self.openSession() }
            return true
        }
        // Packets after the end of the session.
        while next() != nil {}
    }

    func changed() { for case let link? in self.links.joined where link.isOpen { link.carrierChanged() } }

    func writable() { for case let link? in self.links.joined where link.isOpen { link.deliver(.writable) } }

    func closed(_ error: LinkspanError) {
        if self.mayChangeCarrier { self.putLinksBack() }
        let error = self.memory.value.ended(
            self.attempt.reason(error), began: self.attempt.sessionBegan, for: self.key.place, now: self.now)
        if !self.links.waiting.isEmpty {
            let other = self.memory.value.otherChoice(
                for: self.key.place, self.configuration.carriers, insteadOf: self.attempt.choice, after: error)
            if let other {
                self.attempt = CarrierAttempt(other, deadline: self.key.request.deadline, now: self.now)
                return self.open()
            }
        }
        if error.code == .messageRefused { self.judgeRefusal() }
        self.retire()
        self.timer?.work.cancel()
        var output = SocketIOOutput()
        self.owned?.session.streamClosed(error, output: &output)
        let waiting = self.links.takeWaiting()
        self.phase = .ended
        (self.carrier, self.timer) = (nil, nil)
        for link in waiting { link.deliver(.closed(error)) }
        self.deliverFarewells()
        self.carryOut(&output)
        self.owned = nil
    }

    // MARK: Another carrier

    private var mayChangeCarrier: Bool { self.phase != .ended && self.attempt.mayChange }

    /// Makes the links wait for another carrier.
    private func putLinksBack() {
        self.links.putBack()
        self.owned = nil
        self.phase = .opening
        self.timer.take()?.work.cancel()
        self.deliverFarewells()
    }
}

// MARK: - The session's output

extension SocketIOEngine {
    /// Feeds the session by `feed` until that returns false, and carries out the output.
    private func advance(_ feed: (inout SocketIOOutput) -> Bool) {
        guard self.owned != nil else { return }
        var output = SocketIOOutput()
        // The server may have ended or refused the last namespace.
        if !self.carryOut(&output, feed) { self.closeIfUnused(politely: true) }
    }

    private func openSession() {
        guard let handshake = self.owned?.look(\.handshake) else { return }
        self.attempt.sessionOpened(now: self.now)
        self.memory.value.worked(self.attempt.choice, for: self.key.place, now: self.now)
        self.carrier?.sessionOpened(handshake)
    }

    /// Carries the session's output out: sends, then delivers, and at last sets the timer or closes.
    ///
    /// - Parameters:
    ///   - output: the output.
    ///   - feed: has the session take more input; called when all output so far is carried out. Returns false when there
    ///     is no more.
    /// - Returns: whether the session ends the stream.
    @discardableResult
    func carryOut(
        _ output: inout SocketIOOutput, _ feed: (inout SocketIOOutput) -> Bool = { _ in false }
    ) -> Bool {
        let carrier = self.carrier
        while true {
            if !output.frames.isEmpty {
                for packet in output.frames { carrier?.send(packet) }
                output.frames.removeAll()
            }
            if let error = output.close {
                self.phase = .ending
                if self.mayChangeCarrier {
                    self.attempt.fail(error)
                    self.putLinksBack()
                    carrier?.abort()
                    return true
                }
            }
            if let namespace = output.nextNamespace {
                self.deliver(&output, of: namespace, to: self.links.link(at: namespace), feed)
            } else if output.close != nil || !feed(&output) {
                break
            }
        }
        if output.hasNewDeadlines { self.arm() }
        if let beat = output.heartbeat { for link in self.links.joined { link?.heard(beat) } }
        guard output.close != nil else { return false }
        carrier?.close()
        return true
    }

    /// Delivers the events of a namespace to its link, for as long as nothing else is to be done; those of other namespaces
    /// wait, so that a read which alternates between some does not cost each message a turn of a connection.
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
                    case .message, .failed, .changed, .writable: ()
                    case .reply(let request, _): self.turns.answered(request, in: link.turn)
                    case .opened(let info):
                        // Version 3 lets links into `/` without a CONNECT.
                        if self.configuration.protocol == .v4 { self.turns.accepted(link.turn) }
                        let mayResume = self.recovery(of: link) != nil
                        return .opened(link.willOpen(info, mayResume: mayResume))
                    case .closed(let error):
                        link.willClose(leaving: self.owned?.look { $0.recovery(of: namespace) } ?? nil)
                        let cause = self.causeOfEnd(error, of: namespace)
                        // A pause ends with its link, unless the socket ends: then it may be the reason for all.
                        if output.close == nil, self.phase != .ended { self.setReadingPaused(false, for: link) }
                        self.letGo(of: link, at: namespace)
                        return .closed(cause)
                    }
                    return event
                }
                if output.putAside() { continue }
                guard output.isEmpty, feed(&output) else { return nil }
            }
        }
        output.takeBack()
    }

    /// The reason for the end of a namespace's link: a pause of one link is the reason for all, and a refused message
    /// that of the link alone that has sent it.
    private func causeOfEnd(_ error: LinkspanError, of namespace: Int) -> LinkspanError {
        if error.code == .messageRefused, namespace != self.refusedNamespace {
            return LinkspanError(.connectionLost, "the socket ended with a message of another namespace", cause: error)
        }
        guard self.links.isReadingPaused, error.code == .heartbeatMissed else { return error }
        return LinkspanError(.slowConsumer, "a full sequence had paused reading when the link ended", cause: error)
    }

    /// Finds the link whose message the server has refused; when that is unknown, the next links have a socket each.
    private func judgeRefusal() {
        self.refusedNamespace = self.turns.refused(among: self.links.joined.map { $0?.turn })
        if self.refusedNamespace == nil { self.memory.value.separate(self.key.place, now: self.now) }
    }
}

// MARK: - Deadlines

extension SocketIOEngine {
    /// Makes sure that a timer runs for the session's next deadline, and notes the values that senders look at.
    private func arm() {
        let deadlines = self.owned?.look { ($0.nextDeadline, $0.heartbeatDeadline, $0.maximumPayload) }
        guard let deadlines, let due = deadlines.0 else { return }
        (_, self.liveness.heartbeatDeadline, self.maximumPayload) = deadlines
        // Put off as well, or it would wake the process between two pings; seldom, and not at the end of a last look.
        let isSet = self.timer.map { $0.due <= due && (due <= $0.due + .seconds(1) || self.liveness.isLastLook) }
        if isSet != true { self.schedule(due, after: self.now.duration(to: due)) }
    }

    private func schedule(_ due: Moment, after delay: Duration) {
        self.timer?.work.cancel()
        self.timer = (due, self.loop.scheduleLocally(after: delay) { self.timerFired() })
    }

    func timerFired() {
        let isAttachmentOverdue = self.isAttachmentOverdue()
        let isOverdue = self.isOverdue() || isAttachmentOverdue
        let lookBegan: Moment?
        let now = self.now
        switch self.liveness.timerFired(isOverdue: isOverdue, now: now) {
        // Due now, so that no new deadline cuts the look short.
        case .look(let delay): return self.schedule(now, after: delay)
        case .decide(let began): lookBegan = began
        }
        if let lookBegan, let heard = self.carrier?.lastHeard, heard >= lookBegan {
            // Handling what was read may have taken as long as the server may be silent: more may have arrived since.
            self.owned?.session.heard(at: self.now)
        }
        self.timer.take()?.work.cancel()
        var isDue = true
        self.advance { output in
            guard isDue else { return false }
            isDue = false
            output.hasNewDeadlines = true
            self.owned?.session.timer(now: self.now, isReceiving: self.isReceiving, output: &output)
            return true
        }
        // What was refused meanwhile.
        if lookBegan != nil { self.writable() }
    }

    /// Whether the server has been silent for too long, as far as is known.
    func isOverdue() -> Bool {
        if let heard = self.carrier?.lastHeard { self.owned?.session.heard(at: heard) }
        self.liveness.heartbeatDeadline = self.owned?.look(\.heartbeatDeadline) ?? nil
        return self.liveness.heartbeatDeadline.map { $0 <= self.now } ?? false
    }

    /// Whether the next attachment of a packet is overdue, and no part of it comes.
    private func isAttachmentOverdue() -> Bool {
        guard self.owned?.look({ $0.isAttachmentOverdue(now: self.now) }) == true else { return false }
        guard self.carrier?.isReceiving == true else { return true }
        self.owned?.session.putOffAttachment(now: self.now)
        return false
    }
}
