internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

// MARK: - Links leave

extension SocketIOEngine {
    /// The time that a link that leaves waits for its last words to be sent, and the interval of its looks.
    private static let farewellDeadline = Duration.seconds(5)
    private static let farewellPeriod = Duration.milliseconds(2)

    func leave(_ link: SocketIOLink, politely: Bool) {
        let reason = LinkspanError(.connectionLost, "closed by this side")
        // Others that have left may still have something to say.
        let endsPolitely = politely || !self.farewells.isEmpty
        // What is given up last ends with the session, of which the server is told: a process that exits before that
        // would leave the session behind.
        let endsWithSession = self.carrier?.tellsServerOfAbort == true
        var output = SocketIOOutput()
        if let waiting = self.waiting.firstIndex(where: { $0 === link }) {
            self.waiting.remove(at: waiting)
            if self.waiting.isEmpty, endsWithSession {
                self.farewells.append((link, .closed(reason)))
            } else {
                link.deliver(.closed(reason))
            }
        } else if let index = self.index(of: link), let active = self.owned?.look(\.activeNamespaces) {
            let isGivenUp = !politely && active <= 1
            if isGivenUp {
                // Without a word in the namespace: the server may let the next link resume.
                self.owned?.session.giveUp(index, reason: reason, isReceiving: self.isReceiving, output: &output)
            } else {
                self.owned?.session.leave(
                    index, reason: reason, politely: politely, isReceiving: self.isReceiving, output: &output)
            }
            if politely || isGivenUp && endsWithSession { self.putOffEnd(of: link, at: index, &output) }
        }
        self.setReadingPaused(false, for: link)
        self.carryOut(&output)
        self.closeIfUnused(politely: endsPolitely)
        self.awaitFlush(until: self.now + Self.farewellDeadline)
    }

    /// Keeps the end of a link until its last words are on their way, or the server knows that the session is over.
    private func putOffEnd(of link: SocketIOLink, at index: Int, _ output: inout SocketIOOutput) {
        // The next link may be opened before this one is told.
        link.keep(self.owned?.look { $0.recovery(of: index) } ?? nil)
        while let event = output.takeEvent(of: index) { self.farewells.append((link, event)) }
        self.letGo(of: link, at: index)
    }

    /// Forgets a link whose end is told now or kept for later: it would keep its connection for as long as the socket
    /// lasts, and each read would look at it.
    func letGo(of link: SocketIOLink, at index: Int) {
        guard self.index(of: link) == index else { return }
        self.links[index] = nil
        link.index = nil
        self.owned?.session.release(index, nextAck: link.acks.next)
        self.turns.left(link.turn)
    }

    /// Ends the links that have left when the system, or over polling the server, has all they said.
    ///
    /// The last of an engine ends with the carrier, whose goodbye the server answers.
    private func awaitFlush(until limit: Moment) {
        guard !self.farewells.isEmpty, !self.isClosed, self.takesMessages else { return }
        if self.carrier?.hasPendingBytes == true, limit > self.now {
            _ = self.engines.loop.scheduleLocally(after: Self.farewellPeriod) { self.awaitFlush(until: limit) }
            return
        }
        self.deliverFarewells()
    }

    /// Ends the links that have left, whatever became of their last words.
    func endFarewells() {
        self.deliverFarewells()
        self.closeIfUnused(politely: false)
    }

    func deliverFarewells() {
        let farewells = self.farewells
        self.farewells = []
        for (link, event) in farewells { link.deliver(event) }
    }
}
