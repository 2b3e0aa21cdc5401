public import Linkspan
public import LinkspanLifecycle
public import LinkspanRuntime
public import Logging

extension ConnectionManager {
    /// Makes a manager whose connections a registry hears of, and whose keeper follows the registry's events about the
    /// network path and the app's phases.
    ///
    /// - Parameters:
    ///   - services: the registry.
    ///   - scheduler: the clock.
    ///   - random: random numbers from 0 up to 1, for jitter.
    ///   - rules: the keeper's chain; ``/Linkspan/ConnectionManager/standardRules`` by default.
    ///   - keeperPeriod: how often the keeper looks at the pool.
    ///   - backgroundIdleTimeout: how long connections stay up in the background.
    ///   - attempts: how many attempts may be made, however many connections there are.
    ///   - factory: makes the connections; nil for the SDK's own, which alone are observed.
    ///   - logger: gets state changes, at level debug.
    public convenience init(
        services: ServiceRegistry, scheduler: any Scheduler = SystemScheduler.shared,
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        rules: [any KeeperRule] = ConnectionManager.standardRules, keeperPeriod: Duration = .seconds(5),
        backgroundIdleTimeout: Duration = .seconds(30), attempts: AttemptLimits = AttemptLimits(),
        factory: (any ConnectionFactory)? = nil, logger: Logger = Logger(label: "linkspan")
    ) {
        let reporter = ServiceReporter(services: services, scheduler: scheduler)
        self.init(
            observer: reporter, scheduler: scheduler, random: random, rules: rules, keeperPeriod: keeperPeriod,
            backgroundIdleTimeout: backgroundIdleTimeout, attempts: attempts, factory: factory, logger: logger)
        self.listen(to: services)
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
