public import Linkspan
public import LinkspanLifecycle
internal import LinkspanRuntime

/// The SDK as a whole: starts a plan and stops it.
///
/// ```swift
/// let messaging = try await Messaging.start(plan)
/// let connection = try await messaging.connect()
/// try connection.send("hello")
/// await messaging.stop()
/// ```
public final class Messaging: Sendable {
    private struct State: Sendable {
        /// The configuration for ``connect()``.
        var configuration: ConnectionConfiguration
        /// The services without their connection yet; nil before the first call of `connect()`.
        var waiting: [Taker]?
        /// Fulfilled when the services that are taking it have done so.
        var introduction: Promise<Void>?
        /// The handlers of services, which need not keep them, by the member of the plan that they belong to.
        var handlers: [ServiceName: [ConnectionHandler]] = [:]
        /// The services of the plan; nil while they are being changed.
        var running: RunningServices?
    }

    /// A service that takes the connection, and the member of the plan that it is, or is nested in.
    private struct Taker: Sendable {
        let name: ServiceName
        let isRequired: Bool
        let service: any ConnectionUsing
    }

    /// The services, with one of the SDK's own: `connections`, which closes the connections in its turn.
    public let services: ServiceRegistry
    /// The connections.
    public let manager: ConnectionManager
    /// The clock of the connections.
    private let scheduler: any Scheduler
    // Guards configuration and running services: callers of `connect` contend with changes of the plan.
    private let state: Lock<State>

    private init(
        services: ServiceRegistry, manager: ConnectionManager, scheduler: any Scheduler,
        configuration: ConnectionConfiguration, running: RunningServices
    ) {
        self.scheduler = scheduler
        self.services = services
        self.manager = manager
        self.state = Lock(State(configuration: configuration, running: running))
    }

    /// Checks the plan and starts its services.
    ///
    /// Nothing is connected before ``connect()``.
    ///
    /// - Parameters:
    ///   - plan: the plan to run.
    ///   - connections: how the connection manager works.
    ///   - services: how the service registry works.
    ///   - trafficInterval: the time between two ``TrafficEvent``s about the same connection and event.
    /// - Returns: the running SDK.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `invalidURL` or `invalidConfiguration`; nothing runs then.
    public static func start(
        _ plan: MessagingPlan, connections: ConnectionManager.Options = ConnectionManager.Options(),
        services: RegistryOptions = RegistryOptions(), trafficInterval: Duration = .milliseconds(250)
    ) async throws(LinkspanError) -> Messaging {
        let configuration = try plan.configuration
        let registryClock = services.scheduler
        let services = ServiceRegistry(options: services)
        var connections = connections
        connections.rules = plan.rules + connections.rules
        if let dataSaving = plan.dataSaving { connections.dataSaving = dataSaving }
        let manager = ConnectionManager(
            options: connections, services: services, trafficInterval: trafficInterval)
        var running = RunningServices()
        let messaging: Messaging
        do {
            try services.register(ConnectionsService(manager: manager, scheduler: registryClock)).keep()
            for planned in plan.services {
                let registration = try services.register(planned.service, settings: planned.settings)
                registration.keep()
                running.members[planned.name] = RunningServices.Member(planned: planned, registration: registration)
            }
            messaging = Messaging(
                services: services, manager: manager, scheduler: connections.scheduler, configuration: configuration,
                running: running)
            // Before the start, so that a service sees the others start.
            messaging.show(plan)
            try await services.start()
        } catch {
            // What was not started still holds the registry.
            await services.stop()
            throw LinkspanError(.invalidConfiguration, "the services cannot be started: \(error.message)", cause: error)
        }
        return messaging
    }

    /// The plan's connection: made and connected by the first call, shared by the others.
    ///
    /// When it returns, each service that adopts ``ConnectionUsing`` has its own handler, and had it before the connection was
    /// opened; again when their connection was released, as by
    /// ``/Linkspan/ConnectionManager/logOut(_:keepingDeliveries:within:)``.
    ///
    /// - Returns: a handler; the connection is kept while one is held.
    /// - Throws: ``/Linkspan/LinkspanError``; see ``/Linkspan/ConnectionManager/connect(_:)``. The error of a required service
    ///   that did not take its connection, which the next call asks again.
    public func connect() async throws(LinkspanError) -> ConnectionHandler {
        self.forgetReleased()
        let (handler, mustConnect) = try self.manager.hold(self.configuration)
        try await self.introduceServices()
        if mustConnect { try self.manager.open(handler) }
        return handler
    }

    /// Moves the plan's connection to another endpoint, with its holders, listeners and waiting commands; later calls
    /// of ``connect()`` get it there, too.
    ///
    /// Services of the plan do not change. Waiting commands move along only when the plan has the same credential
    /// source as the former one; see ``/Linkspan/ConnectionManager/move(_:to:)``.
    ///
    /// - Parameter plan: the endpoint, transport, credentials and options.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `invalidURL` or `invalidConfiguration`, or what
    ///   ``/Linkspan/ConnectionManager/move(_:to:)`` throws; nothing has changed then.
    public func move(to plan: MessagingPlan) throws(LinkspanError) {
        try self.move(to: try plan.configuration)
        if !plan.settings.isEmpty { self.show(plan) }
    }

    /// Moves the plan's connection to another transport of the same server, with the same credentials and options.
    func move(to next: TransportAlternative) throws(LinkspanError) {
        let former = self.configuration
        try self.move(
            to: try ConnectionBuilder(next.url).transport(next.transport).credentials(former.credentials)
                .options { $0 = former.options }.build())
    }

    private func move(to next: ConnectionConfiguration) throws(LinkspanError) {
        try self.manager.move(self.configuration, to: next)
        self.setConfiguration(next)
    }

    /// Quiesces the services, disconnects the connections, and stops the services, in this order.
    ///
    /// - Parameter budget: how long that may take.
    /// - Returns: the fate of every service.
    @discardableResult
    public func stop(within budget: Duration = .seconds(8)) async -> ShutdownReport {
        await self.services.stop(within: budget)
    }
}

// MARK: - Channels of services

extension Messaging {
    /// The configuration for ``connect()``.
    var configuration: ConnectionConfiguration { self.state.withLock { $0.configuration } }

    /// Forgets the handlers of services when their connection was released, so that they get the next one.
    private func forgetReleased() {
        guard self.state.withLock({ $0.handlers.values.joined().first })?.isConnectionReleased == true else { return }
        // They end outside the lock.
        _ = self.state.withLock { state in
            defer { (state.handlers, state.waiting) = ([:], nil) }
            return state.handlers
        }
    }

    /// Gives each service that expects one its connection, once, in one call of `connect()` at a time.
    private func introduceServices() async throws(LinkspanError) {
        let turn = Promise<Void>()
        while let other = self.state.withLock({ state in
            defer { state.introduction = state.introduction ?? turn }
            return state.introduction
        }) { await other.value }
        defer {
            self.state.withLock { $0.introduction = nil }
            turn.fulfill()
        }
        if self.state.withLock({ $0.waiting == nil }) {
            let known = self.services.located((any ConnectionUsing).self).map(Taker.init)
            self.state.withLock { $0.waiting = known }
        }
        while let taker = self.state.withLock({ $0.waiting?.isEmpty == false ? $0.waiting?.removeFirst() : nil }) {
            do {
                try await self.introduce(taker)
            } catch {
                self.state.withLock { $0.waiting?.insert(taker, at: 0) }
                throw error
            }
        }
    }

    /// Gives a service its connection; one that fails is reported as a fault unless it is required.
    private func introduce(_ taker: Taker) async throws(LinkspanError) {
        let handler = try self.hold(for: taker.name)
        let (outcome, limit) = (Promise<(any Error)?>(), taker.service.budgets.start)
        // No parent can own it: it may outlive its limit.
        let task = Task {
            do {
                try await taker.service.use(handler)
                outcome.fulfill(nil)
            } catch {
                self.drop(handler, of: taker.name)
                outcome.fulfill(error)
            }
        }
        let failure = await outcome.value(
            until: self.scheduler.now + limit, by: self.scheduler,
            or: LinkspanError(.timedOut, "it did not return within \(limit)"))
        guard let failure else { return }
        task.cancel()
        let error = failure as? LinkspanError
        let message = "use failed: \(error?.message ?? "\(failure)")"
        let path = "\(self.services.name).\(taker.name)"
        guard taker.isRequired else {
            self.services.emit(FaultEvent(path: path, code: .startFailed, message: message, severity: .error))
            return
        }
        self.drop(handler, of: taker.name)
        throw LinkspanError(error?.code ?? .invalidConfiguration, "\(path): \(message)", cause: failure)
    }

    private func hold(for name: ServiceName) throws(LinkspanError) -> ConnectionHandler {
        let handler = try self.manager.hold(self.configuration).handler
        self.state.withLock { $0.handlers[name, default: []].append(handler) }
        return handler
    }

    private func drop(_ handler: ConnectionHandler, of name: ServiceName) {
        self.state.withLock { $0.handlers[name]?.removeAll { $0 === handler } }
        handler.release()
    }

    /// Ends the handlers of a service that has gone, also those that it keeps and whose listeners keep it.
    func dismiss(_ name: ServiceName) {
        let former = self.state.withLock { state in
            state.waiting?.removeAll { $0.name == name }
            return state.handlers.removeValue(forKey: name)
        }
        for handler in former ?? [] { handler.release() }
    }

    /// Gives a service that is about to be added its connection, unless ``connect()`` will.
    func introduce(_ planned: PlannedService) async throws(LinkspanError) {
        guard self.state.withLock({ $0.waiting != nil }), let service = planned.service as? any ConnectionUsing else {
            return
        }
        let importance = planned.settings.importance ?? service.importance
        try await self.introduce(Taker(name: planned.name, isRequired: importance == .required, service: service))
    }
}

// MARK: - Services that show the SDK

extension Messaging {
    /// Shows a service what it asks to look at.
    func show(to service: any LifecycleService, _ plan: MessagingPlan) {
        guard let service = service as? any MessagingInspecting else { return }
        let present = self.configuration.transport.name
        let alternatives = plan.alternatives.filter { $0.transport.name != present }
        service.inspect(
            InspectionSubject(
                services: self.services, manager: self.manager, settings: plan.settings,
                transports: alternatives.map(\.name)
            ) { [weak self] name throws(LinkspanError) in
                guard let self, let next = alternatives.first(where: { $0.name == name }) else {
                    throw LinkspanError(.unsupported, "there is no transport '\(name)' to move to")
                }
                try self.move(to: next)
                // From there it may move back.
                self.show(plan)
            })
    }

    /// Shows the services of the registry what they ask to look at.
    func show(_ plan: MessagingPlan) {
        for service in self.services.services(of: (any MessagingInspecting).self) { self.show(to: service, plan) }
    }
}

// MARK: - Changes of the plan

extension Messaging {
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

    /// Sets what ``connect()`` connects to.
    func setConfiguration(_ next: ConnectionConfiguration) { self.state.withLock { $0.configuration = next } }
}

extension MessagingPlan {
    /// The checked configuration to connect to.
    var configuration: ConnectionConfiguration {
        get throws(LinkspanError) {
            try ConnectionBuilder(self.url).transport(self.transport).credentials(self.credentials)
                .options { $0 = self.options }.build()
        }
    }
}
