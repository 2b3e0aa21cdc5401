public import Linkspan
public import LinkspanLifecycle
internal import LinkspanRuntime

extension ConnectionManager {
    /// Makes a manager that reports its connections to a registry, and whose keeper follows the registry's events about
    /// the network path and the app's phases.
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

    /// Follows the sources of a registry, beginning with the latest event of each, for as long as the manager lives.
    private func listen(to services: ServiceRegistry) {
        let translation = Lock(PathTranslation())
        services.observe(weak: self, NetworkEvent.self) { manager, stamped in
            let event = stamped.event
            manager.pathCosts(isExpensive: event.isExpensive, isConstrained: event.isConstrained)
            for signal in translation.withLock({ $0.signals(for: event) }) { manager.signal(signal) }
        }.keep()
        services.observe(weak: self, AppEvent.self) { manager, stamped in
            if let signal = KeeperSignal(stamped.event) { manager.signal(signal) }
        }.keep()
    }
}
