internal import Logging

/// Answers of the store, on the connection's executor.
extension ConnectionCore {
    func openStore() { self.commands.openStore(effects: &self.effects) }

    func storeOpened(_ account: String?, session: UInt64, _ result: Result<Void, any Error>) {
        self.commands.storeOpened(account, session: session, result, effects: &self.effects)
    }

    func storeLoaded(session: UInt64, _ result: Result<[StoredDelivery], any Error>) {
        self.commands.storeLoaded(session: session, result, now: self.now, effects: &self.effects)
    }

    func storeKept(_ delivery: StoredDelivery, _ id: Command.ID, _ result: Result<StoredDelivery, any Error>) {
        self.commands.kept(delivery, id, result, effects: &self.effects)
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
