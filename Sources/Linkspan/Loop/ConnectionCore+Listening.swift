extension ConnectionCore {
    func add(_ listener: EventListener, event: String?) {
        if self.router.add(listener, event: event), let event { self.effects.append(.replay(event: event)) }
    }

    /// Moves a listener to outgoing messages before the others.
    func moveOutgoingToFront(_ id: UInt64) {
        guard let index = self.outgoingListeners.firstIndex(where: { $0.id == id }) else { return }
        self.outgoingListeners.insert(self.outgoingListeners.remove(at: index), at: 0)
    }

    /// Calls those that listen to outgoing messages at the moment of their turn.
    func tellOutgoing(_ command: Command) {
        for (id, handler) in self.outgoingListeners where self.outgoingListeners.contains(where: { $0.id == id }) {
            handler(command)
        }
    }

    /// Notes whether a listener wants nothing to be read for now.
    func setPaused(_ isPaused: Bool, by listener: UInt64) {
        if isPaused { self.pausing.insert(listener) } else { self.pausing.remove(listener) }
    }

    /// Pauses the reading of the link while a listener wants that, and resumes it afterwards.
    ///
    /// Not while a greeting waits for its replies.
    func pauseOrResumeReading() {
        let isGreeting = self.epoch.map { self.commands.isGreeting($0) } ?? false
        let isWanted = !self.pausing.isEmpty && self.machine.state == .connected && !isGreeting
        guard isWanted != self.isReadingPaused else { return }
        self.isReadingPaused = isWanted
        self.calling { self.link?.setReadingPaused(isWanted) }
    }

    /// The reason for the end of a link, for a link that was not read from.
    func causeOfEnd(_ error: LinkspanError) -> LinkspanError {
        guard self.isReadingPaused, error.code == .heartbeatMissed || error.code == .connectionLost else {
            return error
        }
        return LinkspanError(.slowConsumer, "a full sequence had paused reading when the link ended", cause: error)
    }

    /// Drops all listeners.
    func finishListening() {
        self.router.finish()
        self.pausing = []
        // Kept until after the access: listeners may hold anything.
        withExtendedLifetime(self.outgoingListeners) { self.outgoingListeners = [] }
    }
}
