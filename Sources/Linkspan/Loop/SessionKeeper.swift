internal import LinkspanRuntime

/// Publishes the session that the next link resumes, and has the store keep it for the next process.
///
/// Confined to the connection's executor, as a part of its ``ConnectionCore``.
final class SessionKeeper {
    // Looked at in each turn; nothing that could reach it is called while it changes (W2).
    @exclusivity(unchecked) var memory: SessionMemory

    init(_ destination: Destination) {
        self.memory = SessionMemory(resuming: destination.resumption, isStored: destination.options.store != nil)
    }

    /// Publishes and keeps what has changed in a turn, after the listeners of its messages.
    func turnEnds(for core: ConnectionCore) {
        guard self.memory.isStale else { return }
        self.publish(for: core)
        self.keep(for: core)
    }

    /// Publishes what the next link resumes from, if that has changed.
    func publish(for core: ConnectionCore) {
        self.memory.isStale = false
        let resumption = self.memory.resumption(
            isLeft: core.attempts.isLeft, isReleased: core.attempts.state == .released,
            kept: core.destination.resumption)
        self.publish(resumption, for: core)
    }

    func publish(_ resumption: Secret?, for core: ConnectionCore) {
        if self.memory.publish(resumption) { core.inbox.withState { $0.resumption = resumption } }
    }

    /// Asks the store to keep the text that the next process resumes from.
    private func keep(for core: ConnectionCore, isTimer: Bool = false) {
        guard core.attempts.wasEverConnected, let account = core.sender.outgoing.deliveries?.openAccount else { return }
        switch self.memory.next(now: core.now, isTimer: isTimer) {
        case .keep(let session): core.sender.store.append(.keepSession(session, account: account))
        case .wait(let due): _ = core.later(at: due) { $0.session.keep(for: $0, isTimer: true) }
        case nil: ()
        }
    }

    /// Asks the store to forget the text that the next process would resume from.
    func forget(for core: ConnectionCore) {
        guard let account = core.sender.outgoing.deliveries?.openAccount else { return }
        core.sender.store.append(.keepSession(StoredSession(resumption: nil), account: account))
    }
}
