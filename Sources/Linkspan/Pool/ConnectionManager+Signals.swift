public import LinkspanLifecycle
internal import LinkspanRuntime

extension ConnectionManager {
    /// Tells the keeper what has happened around the connections.
    ///
    /// It acts before this returns, unless it is busy with a former signal, on this thread or another; then it does so
    /// right afterwards. Only ``KeeperSignal/background`` takes effect later: after the idle timeout, unless the app has come back.
    public func signal(_ signal: KeeperSignal) {
        switch signal {
        case .pathLost, .pathAvailable, .foreground:
            self.look(for: .signal(signal))
        case .background:
            guard let stay = self.surroundings.withLock({ $0.enterBackground() }) else { return }
            _ = self.scheduler.schedule(at: self.scheduler.now + self.backgroundIdleTimeout) { [weak self] in
                guard let self, self.surroundings.withLock({ $0.backgroundTimeoutPassed(stay) }) else { return }
                self.look()
            }
        }
    }

    /// Lets the keeper follow a source of the network path, until the task is cancelled.
    ///
    /// For a manager without a registry: one with a registry hears what the registry's sources emit.
    ///
    /// - Throws: what the source throws.
    public func follow(_ source: some EventSource<NetworkEvent>) async throws {
        let translation = Lock(PathTranslation())
        try await source.run { [weak self] event in self?.hear(event, translation) }
    }

    /// Lets the keeper follow a source of the app's phases, until the task is cancelled.
    ///
    /// For a manager without a registry: one with a registry hears what the registry's sources emit.
    ///
    /// - Throws: what the source throws.
    public func follow(_ source: some EventSource<AppEvent>) async throws {
        try await source.run { [weak self] event in self?.hear(event) }
    }

    /// Hears what the sources of a registry tell, beginning with the latest of each; until the registrations go.
    func listen(to services: ServiceRegistry) -> [Registration] {
        let translation = Lock(PathTranslation())
        return [
            services.observe(weak: self, NetworkEvent.self) { manager, stamped in
                manager.hear(stamped.event, translation)
            },
            services.observe(weak: self, AppEvent.self) { manager, stamped in manager.hear(stamped.event) },
        ]
    }

    private func hear(_ event: NetworkEvent, _ translation: Lock<PathTranslation>) {
        for signal in translation.withLock({ $0.signals(for: event) }) { self.signal(signal) }
    }

    private func hear(_ event: AppEvent) {
        if let signal = KeeperSignal(event) { self.signal(signal) }
    }
}
