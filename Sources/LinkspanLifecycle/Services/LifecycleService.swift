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

/// A service's access to its registry during one call.
public struct ServiceScope: Sendable {
    /// The path of the service, from the outermost registry.
    public let path: String

    /// The time at which the registry stops waiting for this call; `nil` if it does not wait.
    public let deadline: ContinuousClock.Instant?

    let id: ServiceID
    private weak let registry: (any ScopeRegistry)?
    private let call: ServiceCall
    /// The number of the event that is being handled.
    private let cause: UInt64?

    init(
        path: String, deadline: ContinuousClock.Instant?, id: ServiceID, registry: any ScopeRegistry, call: ServiceCall,
        cause: UInt64?
    ) {
        self.path = path
        self.deadline = deadline
        self.id = id
        self.registry = registry
        self.call = call
        self.cause = cause
    }

    /// Whether the registry has abandoned this call; its result is ignored.
    package var isAbandoned: Bool { self.call.isAbandoned }

    /// Emits an event that names the one being handled as its cause.
    ///
    /// Throws a ``RegistryError`` with code `abandoned` when the call was given up.
    public func emit<Event: LifecycleEvent>(_ event: Event) throws(RegistryError) {
        try self.live().emit(event, cause: self.cause)
    }

    /// Finds a service that this one has declared to need.
    ///
    /// Throws a ``RegistryError``: `notDeclared` for one that is there but not declared, since the order would be wrong
    /// some day; `notFound`, `ambiguous`, or `abandoned`.
    public func require<Wanted>(_ type: Wanted.Type) throws(RegistryError) -> Wanted {
        let registry = try self.live()
        let found = registry.needs(of: self.id).compactMap { path, service in
            (service as? Wanted).map { (path: path, service: $0) }
        }
        if let only = found.first, found.count == 1 { return only.service }
        guard found.isEmpty else {
            throw RegistryError(
                code: .ambiguous, message: "\(self.path) needs several services of type \(type)",
                paths: found.map(\.path))
        }
        let others = registry.candidates(type, in: nil).map(\.path)
        throw RegistryError(
            code: others.isEmpty ? .notFound : .notDeclared,
            message: others.isEmpty
                ? "there is no service of type \(type)"
                : "\(self.path) asks for \(others.joined(separator: ", ")) without declaring the need", paths: others)
    }

    private func live() throws(RegistryError) -> any ScopeRegistry {
        guard !self.isAbandoned, let registry = self.registry else {
            throw RegistryError(code: .abandoned, message: "a call to \(self.path) was abandoned", paths: [self.path])
        }
        return registry
    }
}

/// A registry as the scope of a service reaches it.
protocol ScopeRegistry: AnyObject, Sendable {
    /// Emits an event.
    @discardableResult
    func emit<Event: LifecycleEvent>(_ event: Event, cause: UInt64?) -> UInt64?

    /// The ready services that a service has declared to need, with their paths.
    func needs(of id: ServiceID) -> [(path: String, service: any LifecycleService)]

    /// The services and nested registries of a type, by path.
    func candidates<Wanted>(_ type: Wanted.Type, in group: ServiceID?) -> [(path: String, service: Wanted)]
}
