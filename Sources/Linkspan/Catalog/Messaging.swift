public import LinkspanLifecycle
internal import LinkspanLock
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
    private let state: Lock<State>

    private struct State: Sendable {
        var configuration: ConnectionConfiguration
        /// Nil while it is being changed.
        var running: RunningServices?
    }

    private init(
        services: ServiceRegistry, manager: ConnectionManager, configuration: ConnectionConfiguration,
        running: RunningServices
    ) {
        self.services = services
        self.manager = manager
        self.state = Lock(State(configuration: configuration, running: running))
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
        let configuration = try plan.configuration()
        let services = ServiceRegistry()
        var running = RunningServices()
        do {
            for planned in plan.services {
                let registration = try services.register(planned.service, settings: planned.settings)
                registration.keep()
                running.members[planned.name] = RunningServices.Member(planned: planned, registration: registration)
            }
            try await services.start()
        } catch {
            throw LinkspanError(.invalidConfiguration, "the services cannot be started: \(error.message)", cause: error)
        }
        let manager = ConnectionManager(services: services, logger: logger)
        return Messaging(services: services, manager: manager, configuration: configuration, running: running)
    }

    /// The plan's connection: made and connected by the first call, shared by the others.
    ///
    /// - Throws: ``LinkspanError``; see ``ConnectionManager/connect(_:)``.
    public func connect() throws(LinkspanError) -> ConnectionHandler {
        try self.manager.connect(self.state.withLock { $0.configuration })
    }

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

    // MARK: Changes of the plan

    /// Takes what runs, for one change at a time.
    func beginChange() throws(LinkspanError) -> (running: RunningServices, configuration: ConnectionConfiguration) {
        let taken = self.state.withLock { state in
            defer { state.running = nil }
            return state.running.map { ($0, state.configuration) }
        }
        guard let taken else { throw LinkspanError(.wrongState, "another change of the plan is being made") }
        return taken
    }

    /// Puts back what runs now.
    func endChange(_ running: RunningServices) { self.state.withLock { $0.running = running } }

    /// Lets the connection and those to come be as `next` says.
    func move(from former: ConnectionConfiguration, to next: ConnectionConfiguration) throws(LinkspanError) {
        self.state.withLock { $0.configuration = next }
    }
}
