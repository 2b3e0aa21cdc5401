public import Linkspan
public import LinkspanLifecycle
internal import LinkspanRuntime

extension ConnectionManager {
    /// Makes a manager that reports its connections to a registry, and whose keeper follows the registry's events about
    /// the network path and the app's phases.
    ///
    /// Connections of a factory of its own are not observed.
    ///
    /// - Parameters:
    ///   - options: the behaviour of the manager.
    ///   - services: the registry.
    ///   - trafficInterval: the time between two ``TrafficEvent``s about the same connection and event.
    public convenience init(
        options: Options = Options(), services: ServiceRegistry, trafficInterval: Duration = .milliseconds(250)
    ) {
        self.init(
            options: options,
            observer: ServiceReporter(services: services, scheduler: options.scheduler, interval: trafficInterval))
        self.listen(to: services)
    }

    /// Follows a source of the network path until the task is cancelled; the keeper reacts to its events.
    ///
    /// For a manager without a registry: one with a registry follows the registry's sources.
    ///
    /// - Throws: the error of the source.
    public func follow(_ source: some EventSource<NetworkEvent>) async throws {
        let translation = Lock(PathTranslation())
        try await source.run { [weak self] event in self?.hear(event, translation) }
    }

    /// Follows a source of the app's phases until the task is cancelled; the keeper reacts to its events.
    ///
    /// For a manager without a registry: one with a registry follows the registry's sources.
    ///
    /// - Throws: the error of the source.
    public func follow(_ source: some EventSource<AppEvent>) async throws {
        try await source.run { [weak self] event in self?.hear(event) }
    }

    /// Follows the sources of a registry, beginning with the latest event of each, for as long as the manager lives.
    private func listen(to services: ServiceRegistry) {
        let translation = Lock(PathTranslation())
        services.observe(weak: self, NetworkEvent.self) { manager, stamped in
            manager.hear(stamped.event, translation)
        }.keep()
        services.observe(weak: self, AppEvent.self) { manager, stamped in manager.hear(stamped.event) }.keep()
    }

    private func hear(_ event: NetworkEvent, _ translation: Lock<PathTranslation>) {
        for signal in translation.withLock({ $0.signals(for: event) }) { self.signal(signal) }
    }

    private func hear(_ event: AppEvent) {
        if let signal = KeeperSignal(event) { self.signal(signal) }
    }
}
