internal import LinkspanRuntime

// What listeners get beside the plain messages.

extension PooledConnection {
    var scheduler: any Scheduler { self.environment.scheduler }

    @discardableResult
    func onItems(
        _ event: String?, _ handler: @escaping @Sendable (EventItem) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.checkNotReleased()
        return self.router.addForItems(event: event, handler)
    }

    @discardableResult
    func once(
        _ event: String, _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.checkNotReleased()
        return self.router.addOnce(event: event, handler)
    }

    @discardableResult
    func onAnyOutgoing(
        _ handler: @escaping @Sendable (OutgoingMessage) -> Void
    ) throws(LinkspanError) -> Subscription {
        try self.checkNotReleased()
        let id = self.outgoing.add(handler)
        self.core.withLock { $0.change(outgoingListeners: 1) }
        return Subscription { [weak self] in
            self?.outgoing.remove(id)
            self?.core.withLock { $0.change(outgoingListeners: -1) }
        }
    }

    /// Lets go of all listeners.
    func finishListening() {
        self.router.finish()
        self.outgoing.removeAll()
    }

    func checkNotReleased() throws(LinkspanError) {
        guard !self.core.withLock({ $0.isReleased }) else {
            throw LinkspanError(.released, "the connection has been released")
        }
    }
}

// MARK: - What is heard of sending

extension PooledConnection {
    /// Gives a command to the link and tells those who listen, if it took it.
    func hand(_ outgoing: CommandStateMachine.Outgoing, to link: any Link, isHeard: Bool) -> SendAcceptance {
        self.environment.probe?.leaving(outgoing.command)
        let acceptance = link.send(outgoing.message)
        if isHeard, acceptance == .accepted || acceptance == .acceptedAndFull {
            let command = outgoing.command
            self.outgoing.tell(OutgoingMessage(event: command.event, payload: command.payload, kind: command.kind))
        }
        return acceptance
    }

    /// Takes back the word about a command that the link did not take.
    func traceRefused(_ outgoing: CommandStateMachine.Outgoing) {
        guard self.destination.options.trace > 0 else { return }
        let now = self.scheduler.now
        self.core.withLock { $0.trace.record(TracedFrame(refused: outgoing.message, at: now)) }
    }

    /// Sends a command that was lined up because somebody listens.
    func transmit(_ outgoing: CommandStateMachine.Outgoing, _ link: any Link, writables: UInt64) {
        guard self.core.withLock({ $0.commands.mayStillSend(over: link) }) else {
            return self.takeBack(outgoing, refusedBy: nil, writables: writables)
        }
        self.conclude(outgoing, link, self.hand(outgoing, to: link, isHeard: true), writables: writables)
    }
}
