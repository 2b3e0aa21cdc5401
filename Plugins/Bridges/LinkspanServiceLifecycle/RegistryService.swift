#if ServiceLifecycle
public import LinkspanLifecycle
public import ServiceLifecycle

/// Runs a registry in a `ServiceGroup`.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [RegistryService(registry)], gracefulShutdownSignals: [.sigterm],
///     logger: logger)
/// try await group.run()
/// ```
///
/// The registry is started, and stopped within its budget when the group shuts down gracefully; a cancellation takes
/// the same way. A shutdown during the start cancels the start, which stops the services that had started.
public struct RegistryService: Service {
    private let lifetime: GroupLifetime<StartReport>

    /// Makes a service of a registry.
    ///
    /// - Parameters:
    ///   - registry: the registry; it runs once.
    ///   - budget: how long the stop may take; nil for the registry's own
    ///     ``/LinkspanLifecycle/RegistryOptions/shutdownBudget``. A group with a shorter
    ///     `maximumGracefulShutdownDuration` gives up before.
    ///   - onReady: called when every required service is ready, with the report of the start: the place to notify a
    ///     load balancer. When it throws, the registry is stopped and the error goes to the group.
    ///   - onStop: called with the fate of every service.
    public init(
        _ registry: ServiceRegistry, budget: Duration? = nil,
        onReady: @escaping @Sendable (StartReport) async throws -> Void = { _ in },
        onStop: @escaping @Sendable (ShutdownReport) async -> Void = { _ in }
    ) {
        self.lifetime = GroupLifetime(
            start: { try await registry.start() }, onReady: onReady,
            stop: { _ in await onStop(await registry.stop(within: budget)) })
    }

    /// Runs the registry until the group shuts down or the task is cancelled.
    public func run() async throws { try await self.lifetime.run() }
}
#else
/// A service of swift-service-lifecycle, which is not built in.
@available(*, unavailable, message: "not built in: switch the trait ServiceLifecycle of the package linkspan on")
public enum RegistryService {}
#endif
