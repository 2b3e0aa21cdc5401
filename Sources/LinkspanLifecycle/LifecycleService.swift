/// A part of an application that follows the life of the SDK: it starts, observes, is asked, and stops.
///
/// Only ``name`` is required. A service follows the events whose observer protocols it adopts, such as
/// ``AppObserving``; the registry checks once, when the service is registered.
public protocol LifecycleService: Sendable {
    /// The identity of the service, unique among its siblings.
    var name: ServiceName { get }

    /// The position of the service in the order of start and stop.
    var placement: Placement { get }

    /// The time limits for each kind of call to the service.
    var budgets: Budgets { get }

    /// Whether the registry may start without this service.
    var importance: Importance { get }

    /// The urgency of calls to the service.
    var urgency: Urgency { get }

    /// Makes the service ready; returning means that it is.
    ///
    /// Throw if the service cannot work. Return promptly when the task is cancelled.
    func start(_ scope: ServiceScope) async throws

    /// Does the service's background work, from when it is ready until its task is cancelled.
    ///
    /// Returning early is no fault; throwing is one, and leaves the service failed.
    func run(_ scope: ServiceScope) async throws

    /// Takes no new work and flushes or persists the rest; all services that it needs are still running.
    func quiesce(_ scope: ServiceScope) async throws

    /// Releases the resources of the service; called once for each start, also for one that threw.
    func stop(_ scope: ServiceScope) async throws

    /// Reports the service's health.
    func health() async -> Health
}

extension LifecycleService {
    /// No constraints on the order.
    public var placement: Placement { Placement() }

    /// The default limits.
    public var budgets: Budgets { Budgets() }

    /// Optional, so a failing extra does not keep the application from starting.
    public var importance: Importance { .optional }

    /// As urgent as the application's own work.
    public var urgency: Urgency { .normal }

    /// Ready at once.
    public func start(_ scope: ServiceScope) async throws {}

    /// No background work.
    public func run(_ scope: ServiceScope) async throws {}

    /// Nothing to flush.
    public func quiesce(_ scope: ServiceScope) async throws {}

    /// Nothing to release.
    public func stop(_ scope: ServiceScope) async throws {}

    /// Healthy.
    public func health() async -> Health { .healthy }
}
