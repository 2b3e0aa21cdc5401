internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanRuntime

/// Tells a service registry what the connections of a manager do.
final class ServiceReporter: ConnectionObserver {
    private let services: ServiceRegistry
    private let scheduler: any Scheduler
    /// What the manager follows in the registry, for as long as it lives.
    private let registrations = Lock<[Registration]>([])

    init(services: ServiceRegistry, scheduler: any Scheduler) {
        self.services = services
        self.scheduler = scheduler
    }

    func observe(_ connection: ObservedConnection) -> any ConnectionProbe {
        ConnectionReporter(connection, services: self.services, scheduler: self.scheduler)
    }

    func keep(_ registrations: [Registration]) { self.registrations.withLock { $0 = registrations } }
}
