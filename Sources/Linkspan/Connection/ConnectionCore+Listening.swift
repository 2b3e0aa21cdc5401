internal import DequeModule

// Who brings what in which order, for those who listen.

extension ConnectionCore {
    /// Makes the caller the one who performs the effects, so that it can bring events meanwhile; lines the events up when
    /// somebody else is.
    mutating func beginReceiving(
        _ events: ArraySlice<LinkEvent>, from link: LinkAdapter, _ clock: any Scheduler
    ) -> Bool {
        if self.trace.isOn { self.trace.record(events, at: clock.now) }
        if self.deferIfDraining(events, from: link) { return false }
        defer { self.isDraining = true }
        return !self.isDraining
    }

    /// Lets a command go out in line with the effects when somebody listens: threads that send for themselves could not say
    /// whose command came first.
    mutating func lineUpIfHeard(_ acceptance: Acceptance) -> Acceptance {
        guard self.outgoingListeners > 0, case .sendNow(let link, let outgoing, let writables) = acceptance else {
            return acceptance
        }
        self.effects.append(.transmit(outgoing, link, writables: writables))
        return .kept
    }

    /// Whether a command that was lined up may still go before those in the buffer.
    func maySend(over link: any Link) -> Bool {
        self.isOpen && self.link === link && !self.isFlushing && !self.isFull
    }

    /// Lines events up behind the effects that are being performed; false when there are none.
    mutating func deferIfDraining(_ events: ArraySlice<LinkEvent>, from link: LinkAdapter) -> Bool {
        guard self.isDraining, !events.isEmpty else { return false }
        self.effects.append(.process(events, from: link))
        return true
    }

    /// What comes next in a flush, and whether somebody listens to it.
    mutating func nextToFlush(
        at clock: any Scheduler
    ) -> (link: any Link, batch: [Outgoing], writables: UInt64, isHeard: Bool)? {
        guard let (link, batch, writables) = self.nextToFlush() else { return nil }
        if self.trace.isOn {
            let now = clock.now
            for outgoing in batch { self.trace.record(TracedFrame(outgoing.message, at: now)) }
        }
        return (link, batch, writables, self.outgoingListeners > 0)
    }

    /// Records a command that is about to be given to the link.
    mutating func trace(_ acceptance: Acceptance, at clock: any Scheduler) {
        guard self.trace.isOn, case .sendNow(_, let outgoing, _) = acceptance else { return }
        self.trace.record(TracedFrame(outgoing.message, at: clock.now))
    }

    /// Takes back the word about a command that the link did not take.
    mutating func traceRefused(_ outgoing: Outgoing, at clock: any Scheduler) {
        self.trace.record(TracedFrame(refused: outgoing.message, at: clock.now))
    }
}
