internal import Linkspan
internal import LinkspanRuntime

// MARK: - Links join

extension SocketIOEngine {
    /// Takes a link.
    ///
    /// - Parameters:
    ///   - link: the link.
    ///   - onJoined: called before any event of the link but its end.
    /// - Returns: whether it was taken; otherwise it needs another engine.
    func join(_ link: SocketIOLink, onJoined: (SocketIOEngine) -> Void) -> Bool {
        // While nothing is read, the answer to CONNECT would not be, either.
        guard self.phase != .ended, !self.links.isReadingPaused else { return false }
        var output = SocketIOOutput()
        if self.owned == nil {
            guard self.links.wait(link) else { return false }
        } else {
            do throws(LinkspanError) {
                try self.seat(link, output: &output)
            } catch {
                guard error.code != .wrongState else { return false }
                link.deliver(.closed(error))
            }
        }
        onJoined(self)
        self.carryOut(&output)
        return true
    }

    /// Joins a link to its namespace.
    ///
    /// - Throws: code `wrongState` when it needs another engine; otherwise the link can join nowhere.
    func seat(_ link: SocketIOLink, output: inout SocketIOOutput) throws(LinkspanError) {
        let request = link.key.request
        let index = try self.owned?.session.join(
            link.namespace, auth: request.credentials.auth,
            recovery: request.resumption.flatMap(SocketIORecovery.init), timeout: request.deadline, now: self.now,
            output: &output)
        guard let index else { throw LinkspanError(.wrongState, "the session has ended") }
        self.links.join(link, at: index)
        link.acks = AckNumbers(first: self.owned?.look { $0.firstAck(of: index) } ?? 0)
        self.noteSend(in: &link.turn)
    }

    /// The values by which a link resumes its namespace elsewhere.
    func recovery(of link: SocketIOLink) -> SocketIORecovery? {
        self.links.index(of: link).flatMap { index in self.owned?.look { $0.recovery(of: index) } ?? nil }
    }

    /// Reads no further while one of the links wants that: they share the socket.
    func setReadingPaused(_ isPaused: Bool, for link: SocketIOLink) {
        guard self.links.setReadingPaused(isPaused, for: link) else { return }
        self.carrier?.setReadingPaused(self.links.isReadingPaused)
    }
}

// MARK: - Links leave

extension SocketIOEngine {
    /// The time that a link that leaves waits for its goodbye to be sent.
    private static let farewellDeadline = Duration.seconds(5)
    /// The time for the answer to a ping before DISCONNECT.
    private static let pingDeadline = Duration.milliseconds(500)

    /// Has a link leave.
    ///
    /// DISCONNECT is not sent before the server has read the last event: the official server handles an event in its next
    /// tick, and drops it when the same read has ended the namespace by then.
    func leave(_ link: SocketIOLink, politely: Bool) {
        self.setReadingPaused(false, for: link)
        guard politely, self.turns.isOpen(link.turn) else { return self.part(link, politely: politely) }
        var (leaving, limit): (SocketIOLink?, (any ScheduledWork)?) = (link, nil)
        let part = {
            limit?.cancel()
            if let link = leaving.take() { self.part(link, politely: true) }
        }
        self.carrier?.afterFlush(until: self.now + Self.farewellDeadline, on: self.loop) {
            guard self.carrier?.ping(part) == true else { return part() }
            limit = self.loop.scheduleLocally(after: Self.pingDeadline, part)
        }
    }

    private func part(_ link: SocketIOLink, politely: Bool) {
        let reason = LinkspanError(.connectionLost, "closed by this side")
        // Others that have left may still have something to send.
        let endsPolitely = politely || !self.links.leaving.isEmpty
        // The last link that is aborted ends with the session and notifies the server: a process that exits before that
        // would leave the session behind.
        let endsWithSession = self.carrier?.tellsServerOfAbort == true
        var output = SocketIOOutput()
        if self.links.stopWaiting(link) {
            let isLast = self.links.waiting.isEmpty && endsWithSession
            isLast ? self.links.leave(link, .closed(reason)) : link.deliver(.closed(reason))
        } else if let index = self.links.index(of: link), let active = self.owned?.look(\.activeNamespaces) {
            let isGivenUp = !politely && active <= 1
            if isGivenUp {
                // Without DISCONNECT: the server may let the next link resume.
                self.owned?.session.giveUp(index, reason: reason, isReceiving: self.isReceiving, output: &output)
            } else {
                self.owned?.session.leave(
                    index, reason: reason, politely: politely, isReceiving: self.isReceiving, output: &output)
            }
            if politely || isGivenUp && endsWithSession { self.putOffEnd(of: link, at: index, &output) }
        }
        self.carryOut(&output)
        self.closeIfUnused(politely: endsPolitely)
        guard !self.links.leaving.isEmpty else { return }
        // The last of an engine ends with the carrier, whose goodbye the server answers.
        self.carrier?.afterFlush(until: self.now + Self.farewellDeadline, on: self.loop) {
            if self.phase == .open { self.deliverFarewells() }
        }
    }

    /// Keeps the end of a link until its goodbye is sent, or the server knows that the session is over.
    private func putOffEnd(of link: SocketIOLink, at index: Int, _ output: inout SocketIOOutput) {
        // The next link may be opened before the end of this one is delivered.
        link.keep(self.owned?.look { $0.recovery(of: index) } ?? nil)
        while let event = output.takeEvent(of: index) { self.links.leave(link, event) }
        self.letGo(of: link, at: index)
    }

    /// Forgets a link whose end is delivered now or kept for later: it would keep its connection for as long as the
    /// socket lasts, and each read would look at it.
    func letGo(of link: SocketIOLink, at index: Int) {
        guard self.links.remove(link, at: index) else { return }
        self.owned?.session.release(index, nextAck: link.acks.next)
        self.turns.left(link.turn)
    }

    /// Ends a link that leaves, and others that do, whether their goodbye was sent or not.
    func endFarewells(of link: SocketIOLink) {
        self.part(link, politely: true)
        self.deliverFarewells()
        self.closeIfUnused(politely: false)
    }

    func deliverFarewells() {
        for (link, event) in self.links.takeLeaving() { link.deliver(event) }
    }
}
