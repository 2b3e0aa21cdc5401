internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanRuntime

/// Reports the connections of a manager to a service registry.
final class ServiceReporter: ConnectionObserver {
    private let services: ServiceRegistry
    private let scheduler: any Scheduler

    init(services: ServiceRegistry, scheduler: any Scheduler) {
        self.services = services
        self.scheduler = scheduler
    }

    func observe(_ connection: ObservedConnection) -> any ConnectionProbe {
        ConnectionReporter(connection, services: self.services, scheduler: self.scheduler)
    }
}
