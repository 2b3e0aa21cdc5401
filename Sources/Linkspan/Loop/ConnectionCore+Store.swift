internal import LinkspanRuntime
internal import Logging

/// Answers of the store, on the connection's executor.
extension ConnectionCore {
    func openStore() {
        self.sessions = Boxed(StoredSessions())
        self.commands.openStore(effects: &self.effects)
    }

    /// Opens the account anew, or another one: what was loaded of it has just failed, and is loaded again.
    func reopenStore(former account: String?) {
        if self.store != nil {
            var sessions = StoredSessions()
            // What the store knows of this account is the session that has just been left.
            if account == self.destination.source.account { sessions.forgetFormer() }
            self.sessions = Boxed(sessions)
        }
        self.commands.changeAccount(self.destination.source.account, effects: &self.effects)
    }

    func storeOpened(_ account: String?, session: UInt64, _ result: Result<Void, any Error>) {
        self.commands.storeOpened(account, session: session, result, effects: &self.effects)
    }

    func storeLoaded(session: UInt64, _ result: Result<[StoredDelivery], any Error>) {
        self.commands.storeLoaded(session: session, result, now: self.now, effects: &self.effects)
    }

    func storeKept(_ delivery: StoredDelivery, _ id: Command.ID, _ result: Result<StoredDelivery, any Error>) {
        if let call = self.commands.kept(delivery, id, result, effects: &self.effects) { self.tellStore(call) }
        self.storeWrote()
    }

    func storeFound(key: String, session: UInt64, _ result: Result<StoredDelivery?, any Error>) {
        self.commands.found(key: key, session: session, result, effects: &self.effects)
    }

    /// Asks the store again after a while.
    func retryStore(session: UInt64, _ error: any Error) {
        self.environment.logger.warning(
            "Deliveries wait: the store cannot be read",
            metadata: ["url": "\(self.destination.url)", "error": "\(error)"])
        _ = self.later(at: self.now + .seconds(5)) { core in
            core.commands.retryStore(session: session, effects: &core.effects)
        }
    }
}

// MARK: - Sessions

extension ConnectionCore {
    /// Goes on without the store's answer when that takes too long.
    func waitForSession() {
        _ = self.later(at: self.now + StoredSessions.patience) { core in
            if let attempt = core.sessions?.value.answered(nil) { core.effects.append(attempt) }
        }
    }

    /// The store has answered what it knows of the account's last session; one that cannot be read is as good as none.
    func formerSessionKnown(session: UInt64, _ result: Result<StoredSession?, any Error>) {
        guard self.commands.isCurrent(storeSession: session) else { return }
        let former = try? result.get()
        if former != nil {
            self.machine.followsFormerSession()
            self.router.followsFormerSession()
        }
        if let attempt = self.sessions?.value.answered(former) { self.effects.append(attempt) }
        self.isResumptionStale = true
    }

    /// Asks the store to forget the text that the next process would resume from.
    func forgetSession() {
        guard self.sessions != nil, let account = self.commands.openAccount else { return }
        self.tellStore(.keepSession(StoredSession(resumption: nil), account: account))
    }

    /// Asks the store to keep the text that the next process resumes from; called after the listeners of the turn's
    /// messages.
    func keepSession() {
        guard self.sessions != nil, self.machine.wasEverConnected, let account = self.commands.openAccount else {
            return
        }
        switch self.sessions?.value.next(StoredSession(resumption: self.publishedResumption), now: self.now) {
        case .keep(let session): self.tellStore(.keepSession(session, account: account))
        case .wait(let due):
            _ = self.later(at: due) {
                $0.sessions?.value.hasTimer = false; $0.keepSession()
            }
        case nil: ()
        }
    }
}
