internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanRuntime

/// The connections among the services: in the phase of transports, so that the features, which flush before, still have
/// theirs, and the log gets the end.
struct ConnectionsService: LifecycleService {
    static let name: ServiceName = "connections"
    static let placement = Placement(phase: .transport)

    let name: ServiceName = Self.name
    let placement: Placement = Self.placement
    let budgets = Budgets(quiesce: .seconds(30))
    let manager: ConnectionManager
    /// The clock of the registry, which counts the deadline.
    let scheduler: any Scheduler

    /// Says goodbye on all connections.
    func quiesce(_ scope: ServiceScope) async throws {
        let left = scope.deadline.map { self.scheduler.now.duration(to: $0) } ?? self.budgets.quiesce
        // A little before the end, so that a peer that never answers is no fault of this service.
        await self.manager.shutdown(within: max(.zero, left - .milliseconds(100)))
    }
}
