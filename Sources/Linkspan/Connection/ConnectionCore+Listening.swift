internal import DequeModule
internal import LinkspanRuntime

// MARK: - Who brings what in which order

extension ConnectionCore {
    /// What to do with events that a link has just brought.
    enum Reception: Sendable {
        /// Nothing: they are lined up behind what is being done.
        case lined
        /// Bring them on, and then end the reception.
        case current
        /// The same, but their link is not ours any more.
        case former
    }

    /// Makes the caller the one who performs the effects, so that nobody else brings anything meanwhile; lines the events
    /// up when somebody else is.
    mutating func beginReceiving(
        _ events: [LinkEvent], from link: LinkAdapter, _ clock: any Scheduler
    ) -> Reception {
        if self.trace.isOn { self.trace.record(events[...], at: clock.now) }
        guard !self.isDraining else {
            self.effects.append(.process(events[...], from: link))
            return .lined
        }
        self.isDraining = true
        return self.machine.isCurrent(link.epoch) ? .current : .former
    }

    /// Ends the reception, unless effects have come up.
    ///
    /// - Returns: whether the caller has to perform them.
    mutating func endReceiving() -> Bool {
        if self.effects.isEmpty { self.isDraining = false }
        return self.isDraining
    }

    /// A link has opened.
    ///
    /// - Returns: the effects, which are to be performed before anything else the link has brought. Nothing that is lined
    ///   up has to come before them: a change of state that came first would have made the link a former one.
    mutating func linkOpened(_ link: LinkAdapter, _ info: LinkInfo, now: ContinuousClock.Instant) -> [Effect] {
        let former = self.effects.count
        self.run { $0.linkOpened(epoch: link.epoch, info, now: now) }
        self.rearm()
        let caused = Array(self.effects[former...])
        self.effects.removeLast(caused.count)
        return caused
    }
}

// MARK: - Who watches what is sent

extension ConnectionCore {
    mutating func change(outgoingListeners step: Int) {
        self.outgoingListeners += step
        self.isWatched = self.trace.isOn || self.outgoingListeners > 0
    }

    /// Records a command that is about to be given to the link.
    ///
    /// When somebody listens, lines it up with the effects: threads that send for themselves could not say whose command
    /// came first.
    mutating func watch(
        _ acceptance: CommandStateMachine.Acceptance, at clock: any Scheduler
    ) -> CommandStateMachine.Acceptance {
        guard case .sendNow(let link, let outgoing, let writables) = acceptance else { return acceptance }
        if self.trace.isOn { self.trace.record(TracedFrame(outgoing.message, at: clock.now)) }
        guard self.outgoingListeners > 0 else { return acceptance }
        self.effects.append(.transmit(outgoing, link, writables: writables))
        return .kept
    }

    /// What comes next in a flush, and whether somebody listens to it.
    mutating func nextTurn(at clock: any Scheduler) -> (turn: CommandStateMachine.Turn, isHeard: Bool)? {
        let now = clock.now
        guard let turn = self.command({ machine, _ in machine.nextTurn(now: now) }) else { return nil }
        // Its deliveries may have to be repeated.
        self.rearm()
        if self.trace.isOn {
            for outgoing in turn.batch { self.trace.record(TracedFrame(outgoing.message, at: now)) }
        }
        return (turn, self.outgoingListeners > 0)
    }
}
