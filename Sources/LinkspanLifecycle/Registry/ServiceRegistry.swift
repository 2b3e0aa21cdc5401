public import LinkspanRuntime

/// A set of services that start, observe and stop together; itself a service, so that registries nest.
///
/// The services of a registry that is registered in another belong to that one: they are planned, started, informed and
/// stopped with all others, as if they had been registered there, and are named by paths such as `app.chat.presence`.
/// The nested registry stays usable as an entry to the whole: the events that it emits reach all services.
///
/// Emitting never waits. Services run on threads of the registry, every call has a deadline, and ``FaultEvent`` and
/// ``ShutdownReport`` report services that throw, block or ignore their cancellation.
public final class ServiceRegistry: LifecycleService {
    /// The name of the registry, the first part of its services' paths.
    public let name: ServiceName

    /// The position of all services of the registry when it is nested in another.
    public let placement: Placement

    /// Required: it is up to the services inside whether the start may go on without them.
    public let importance: Importance

    let id: ServiceID
    let core: RegistryCore

    /// Makes an empty registry.
    public init(
        name: ServiceName = "services", placement: Placement = Placement(), importance: Importance = .required,
        options: Options = Options()
    ) {
        self.name = name
        self.placement = placement
        self.importance = importance
        self.id = .make()
        // The group gets its registry below, when there is one.
        self.core = RegistryCore(
            root: Group(
                id: self.id, parent: nil, name: name, placement: placement, importance: importance, origin: "code",
                registry: WeakReference(nil)),
            options: options)
        self.core.machine { $0.setRegistry(self) }
    }
}

extension ServiceRegistry {
    /// Settings of a registry; of a nested registry only the outermost one's options count.
    public struct Options: Sendable {
        /// Starts and stops services one at a time, to find those that rely on an order that they do not declare.
        ///
        /// Otherwise services that do not need each other start and stop concurrently.
        public var isSequential = false
        /// The longest start of the whole.
        public var startBudget: Duration = .seconds(30)
        /// The default time limit for the whole stop.
        public var shutdownBudget: Duration = .seconds(8)
        /// The time a cancelled start may take to return before it is abandoned.
        public var grace: Duration = .seconds(1)
        /// The time after which an optional service that failed to start is started again, doubled with each failure; nil
        /// for no retry.
        ///
        /// ``LifecycleService/stop(_:)`` is called before. Services that need it start when it is ready.
        public var retryDelay: Duration? = .seconds(1)
        /// The longest time between two such starts.
        public var retryCap: Duration = .seconds(60)
        /// The threads for calls to services, for each ``Urgency``; they start with the first call.
        public var threads: Int = 4
        /// The number of threads that may run for each ``Urgency`` while services block theirs.
        public var threadLimit: Int = 64
        /// The time.
        public var scheduler: any Scheduler = SystemScheduler.shared

        /// Makes the default options, changed by `configure`.
        public init(_ configure: (inout Options) -> Void = { _ in }) {
            configure(&self)
        }
    }
}

// MARK: - Starting and stopping

extension ServiceRegistry {
    /// Starts all services in order; when it returns, every required one is ready.
    ///
    /// A second call joins the first. Cancelling the task gives the start up. Throws a ``RegistryError``:
    /// `invalidPlan` before anything was started; `startFailed` or `startCancelled` after what had started was stopped
    /// again; `alreadyStopped`.
    @discardableResult
    public func start() async throws(RegistryError) -> StartReport {
        try await self.core.home.start()
    }

    /// Quiesces all services, then stops them in the reverse order of start; returns within `budget`.
    ///
    /// Cancelling the task changes nothing about it. A second call joins the first or returns its report. The registry
    /// lets go of its services then, so that lookups find none.
    @discardableResult
    public func stop(within budget: Duration? = nil) async -> ShutdownReport {
        let core = self.core.home
        return await core.stop(within: budget ?? core.options.shutdownBudget)
    }

    /// Starts, runs until the task is cancelled, and stops in order; returns the fate of every service.
    ///
    /// Throws the errors of ``start()``.
    public func run(onReady: @Sendable (StartReport) async -> Void = { _ in }) async throws(RegistryError)
        -> ShutdownReport
    {
        await onReady(try await self.start())
        await untilCancelled()
        return await self.stop()
    }

    /// The state of a service, by its path; `nil` if there is none.
    public func state(of path: String) -> ServiceState? {
        self.core.home.machine { machine in machine.members.values.first { $0.path == path }?.state }
    }

    /// The services that failed or were skipped, by path; empty when all work.
    public var degraded: [String: ServiceState] {
        self.core.home.machine { $0.degraded }
    }

    /// The health of every ready service, by path; a service that does not answer in time is unhealthy.
    public func healths() async -> [String: Health] {
        let core = self.core.home
        let pairs = core.responders((any LifecycleService).self)
        return await withTaskGroup(of: (String, Health).self) { group in
            for (member, service) in pairs {
                group.addTask { (member.path, await core.health(of: member, service)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

}

// MARK: - Registering

extension ServiceRegistry {
    /// Adds a service, or a registry with all its services, at any time before the stop.
    ///
    /// Added to a running registry it is started as soon as the services it needs are ready. The service stays for as
    /// long as the returned object is held; call ``Registration/keep()`` to keep it for the registry's lifetime. Throws
    /// a ``RegistryError``: `duplicateName`, `invalidPlan` (only while running), `notNestable`, `alreadyStopped`.
    public func register(
        _ service: any LifecycleService, settings: ServiceSettings = ServiceSettings()
    ) throws(RegistryError) -> Registration {
        if let registry = service as? ServiceRegistry {
            return try self.core.home.adopt(registry, into: self.id, settings)
        }
        let entry = Entry(service, group: self.id, settings: settings)
        let core = self.core.home
        try core.add([entry])
        return Registration(.service(entry.id), self.core)
    }

    /// Calls `handler` with every event of a family, one after the other, for as long as `object` lives.
    ///
    /// The object is held weakly; the observer ends with it. Current states come first, marked as replayed. A
    /// value type does not compile, since its end could not be observed.
    public func observe<Object: AnyObject & Sendable, Event: LifecycleEvent>(
        weak object: Object, _ type: Event.Type = Event.self, mailbox: Int = 1024,
        _ handler: @escaping @Sendable (Object, Stamped<Event>) async -> Void
    ) -> Registration {
        let id = ServiceID.make()
        let receiver = WeakReceiver(object: WeakReference(object), call: handler)
        let core = self.core.home
        core.reportTotals()
        core.fanout { fanout in
            fanout.add(
                Mailbox(
                    id: id, path: "\(self.name).observer#\(fanout.nextObserver())", interest: .family(Event.familyID),
                    capacity: mailbox, limit: .seconds(1), receiver: receiver))
        }
        core.open(id)
        return Registration(.observer(id), self.core)
    }
}

// MARK: - Events and questions

extension ServiceRegistry {
    /// Emits an event to all observers, without waiting; from any thread.
    ///
    /// The event is only made if it is needed. Returns its number; `nil` without observers.
    @discardableResult
    public func emit<Event: LifecycleEvent>(_ event: @autoclosure () -> Event, cause: UInt64? = nil) -> UInt64? {
        self.core.emit(event(), cause: cause)
    }

    /// Whether a family has observers, or its events are kept for later ones.
    ///
    /// Check it before you collect the facts for an event.
    public func hasAudience<Event: LifecycleEvent>(for type: Event.Type) -> Bool { self.core.hasAudience(for: type) }

    /// Adds a closure that emits the running totals which have changed since it was last called.
    ///
    /// It is called before a service comes, and before a service that is stopped gets its last events.
    package func addTotals(_ report: @escaping @Sendable () -> Void) { self.core.home.addTotals(report) }

    /// Emits an event and waits until all observers have handled it, each within its own budget and `limit`.
    ///
    /// Services get it in order with all other events. The call does not wait for services that are not ready.
    @discardableResult
    public func barrier<Event: LifecycleEvent>(_ event: Event, within limit: Duration? = nil) async -> BarrierReport {
        await self.core.home.barrier(event, within: limit)
    }

    /// Asks every ready service that adopts `responder`, all at once, and merges the answers in the order of start.
    ///
    /// - Parameters:
    ///   - responder: The protocol, such as `(any UploadDeciding).self`.
    ///   - rule: How answers become one.
    ///   - limit: The longest wait; a service's own budget may be shorter.
    ///   - onFault: The answer that stands in for one that threw or did not come, with the reason.
    ///   - body: Asks one service.
    /// - Returns: The merged answer, or the rule's `none` if no service adopts `responder`.
    public func ask<Responder: Sendable, Answer: Sendable>(
        _ responder: Responder.Type, merging rule: MergeRule<Answer>, within limit: Duration? = nil,
        onFault: @escaping @Sendable (Responder, String) -> Answer,
        _ body: @escaping @Sendable (Responder, ServiceScope) async throws -> Answer
    ) async -> Answer {
        await self.core.home.ask(responder, merging: rule, within: limit, onFault: onFault, body)
    }
}

// MARK: - Lookup

extension ServiceRegistry {
    /// Finds the one service of a type or protocol, in this registry and those nested in it.
    ///
    /// Throws a ``RegistryError``: `notFound`, or `ambiguous` with all paths.
    public func service<Wanted>(of type: Wanted.Type = Wanted.self) throws(RegistryError) -> Wanted {
        let found = self.core.home.candidates(type, in: self.id)
        guard let first = found.first else {
            throw RegistryError(code: .notFound, message: "there is no service of type \(type)")
        }
        guard found.count == 1 else {
            let paths = found.map { $0.path }
            throw RegistryError(
                code: .ambiguous, message: "several services are of type \(type): \(paths.joined(separator: ", "))",
                paths: paths)
        }
        return first.service
    }

    /// All services of a type or protocol, in this registry and those nested in it, by path.
    public func services<Wanted>(of type: Wanted.Type = Wanted.self) -> [Wanted] {
        self.core.home.candidates(type, in: self.id).map { $0.service }
    }

    /// The same, each with the member of this registry that it is, or is nested in.
    package func located<Wanted>(_ type: Wanted.Type) -> [(member: ServiceName, service: Wanted)] {
        let own = self.core.home.machine { $0.path(of: self.id) }
        return self.core.home.candidates(type, in: self.id).map { path, service in
            (ServiceName(rawValue: String(path.dropFirst(own.count + 1).prefix { $0 != "." })), service)
        }
    }
}
