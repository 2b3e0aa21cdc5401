#if ServiceLifecycle
public import Linkspan
public import LinkspanLifecycle
public import LinkspanMessaging
public import ServiceLifecycle

/// Runs a plan, with its services and its connection, in a `ServiceGroup`.
///
/// ```swift
/// let messaging = MessagingService(plan) { messaging, connection in
///     try connection.on("news") { message in print(message.payload) }
/// }
/// let group = ServiceGroup(
///     services: [messaging], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// The services are started, the connection is opened and kept, and both end within the budget when the group shuts
/// down gracefully; a cancellation does the same. A shutdown during the start cancels the start.
public struct MessagingService: Service {
    private struct Running: Sendable {
        var messaging: Messaging
        /// Held, so that the connection is kept.
        var connection: ConnectionHandler
    }

    private let lifetime: GroupLifetime<Running>

    /// Makes a service of a plan.
    ///
    /// - Parameters:
    ///   - plan: the plan; its services run once.
    ///   - connections: how the connection manager works.
    ///   - services: how the service registry works.
    ///   - budget: how long the stop may take. A group with a shorter `maximumGracefulShutdownDuration` gives up before.
    ///   - onReady: called when every required service is ready and the connection is being opened. When it throws,
    ///     everything is stopped and the error goes to the group.
    ///   - onStop: called with the fate of every service.
    public init(
        _ plan: MessagingPlan, connections: ConnectionManager.Options = ConnectionManager.Options(),
        services: RegistryOptions = RegistryOptions(), budget: Duration = .seconds(8),
        onReady: @escaping @Sendable (Messaging, ConnectionHandler) async throws -> Void = { _, _ in },
        onStop: @escaping @Sendable (ShutdownReport) async -> Void = { _ in }
    ) {
        self.lifetime = GroupLifetime(
            start: {
                let messaging = try await Messaging.start(plan, connections: connections, services: services)
                do {
                    return Running(messaging: messaging, connection: try await messaging.connect())
                } catch {
                    await onStop(await messaging.stop(within: budget))
                    throw error
                }
            },
            onReady: { try await onReady($0.messaging, $0.connection) },
            stop: { await onStop(await $0.messaging.stop(within: budget)) })
    }

    /// Runs the plan until the group shuts down or the task is cancelled.
    public func run() async throws { try await self.lifetime.run() }
}
#else
/// A service of swift-service-lifecycle, which is not built in.
@available(*, unavailable, message: "not built in: switch the trait ServiceLifecycle of the package linkspan on")
public enum MessagingService {}
#endif
