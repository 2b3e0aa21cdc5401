public import LinkspanLifecycle
public import Logging

/// The whole SDK behind two calls: start a plan, stop it again.
///
/// ```swift
/// let messaging = try await Messaging.start(plan)
/// let connection = try messaging.connect()
/// // …
/// await messaging.stop()
/// ```
public final class Messaging: Sendable {
    /// The services.
    public let services: ServiceRegistry
    /// The connections.
    public let manager: ConnectionManager
    private let configuration: ConnectionConfiguration

    private init(services: ServiceRegistry, manager: ConnectionManager, configuration: ConnectionConfiguration) {
        self.services = services
        self.manager = manager
        self.configuration = configuration
    }

    /// Checks the plan and starts its services.
    ///
    /// Nothing is connected before ``connect()``.
    ///
    /// - Parameters:
    ///   - plan: what to run.
    ///   - logger: gets state changes of connections, at level debug.
    /// - Returns: the running SDK.
    /// - Throws: ``LinkspanError`` with code `invalidURL` or `invalidConfiguration`; nothing runs then.
    public static func start(
        _ plan: MessagingPlan, logger: Logger = Logger(label: "linkspan")
    ) async throws(LinkspanError) -> Messaging {
        let configuration = try ConnectionBuilder(plan.url).transport(any: plan.transport)
            .credentials(plan.credentials).options { $0 = plan.options }.build()
        let services = ServiceRegistry()
        do {
            for service in plan.services { try services.register(service).keep() }
            try await services.start()
        } catch {
            throw LinkspanError(.invalidConfiguration, "the services cannot be started: \(error.message)", cause: error)
        }
        let manager = ConnectionManager(services: services, logger: logger)
        return Messaging(services: services, manager: manager, configuration: configuration)
    }

    /// The plan's connection: made and connected by the first call, shared by the others.
    ///
    /// - Throws: ``LinkspanError``; see ``ConnectionManager/connect(_:)``.
    public func connect() throws(LinkspanError) -> ConnectionHandler { try self.manager.connect(self.configuration) }

    /// Says goodbye on all connections, then stops the services.
    ///
    /// - Parameter budget: how long both together may take.
    /// - Returns: what became of every service.
    @discardableResult
    public func stop(within budget: Duration = .seconds(8)) async -> ShutdownReport {
        let start = ContinuousClock.now
        await self.manager.shutdown(within: budget / 2)
        return await self.services.stop(within: max(.zero, budget - start.duration(to: .now)))
    }
}
