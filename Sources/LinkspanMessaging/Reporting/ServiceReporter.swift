internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanRuntime

/// Reports the connections of a manager to a service registry.
final class ServiceReporter: ConnectionObserver {
    private let services: ServiceRegistry
    private let scheduler: any Scheduler
    private let interval: Duration
    // The connections with totals to report. Their executors contend once in an interval.
    private let changed = Lock<[TrafficCounter]>([])

    /// Makes a reporter.
    ///
    /// - Parameters:
    ///   - services: the registry.
    ///   - scheduler: the clock of the connections.
    ///   - interval: the time between two reports of running totals.
    init(services: ServiceRegistry, scheduler: any Scheduler, interval: Duration) {
        self.services = services
        self.scheduler = scheduler
        self.interval = interval
        services.addTotals { [weak self] in self?.reportTotals() }
    }

    func observe(_ connection: ObservedConnection) -> any ConnectionProbe {
        let traffic = TrafficCounter(of: connection.id, self.services) { [weak self] in self?.reportLater($0) }
        return ConnectionReporter(connection, traffic, services: self.services, scheduler: self.scheduler)
    }

    private func reportLater(_ traffic: TrafficCounter) {
        let isFirst = self.changed.withLock { changed in
            changed.append(traffic)
            return changed.count == 1
        }
        guard isFirst else { return }
        _ = self.scheduler.schedule(at: self.scheduler.now + self.interval) { [weak self] in self?.reportTotals() }
    }

    private func reportTotals() {
        // Under the lock until all are emitted: a caller that finds nothing to report closes its service's mailbox at once.
        self.changed.withLock { changed in
            for traffic in changed { traffic.report() }
            changed = []
        }
    }
}
