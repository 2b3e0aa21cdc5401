internal import LinkspanRuntime

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
        options: RegistryOptions = RegistryOptions()
    ) {
        self.name = name
        self.placement = placement
        self.importance = importance
        self.id = .make()
        // The group gets its registry below, when there is one.
        self.core = RegistryCore(
            root: Group(
                id: self.id, parent: nil, name: name, placement: placement, importance: importance, origin: "code"),
            options: options)
        self.core.machine { $0.groups.setRegistry { [weak self] in self } }
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
        try await RegistryStart(self.core.home).start()
    }

    /// Quiesces all services, then stops them in the reverse order of start; returns within `budget`.
    ///
    /// Cancelling the task changes nothing about it. A second call joins the first or returns its report. The registry
    /// lets go of its services then, so that lookups find none.
    @discardableResult
    public func stop(within budget: Duration? = nil) async -> ShutdownReport {
        let core = self.core.home
        return await RegistryStop(core).stop(within: budget ?? core.options.shutdownBudget)
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
        let services = core.responders((any LifecycleService).self)
        let healths = await RegistryCore.concurrently(services) { member, service -> Health in
            switch await core.ask(member, within: nil, { _ in await service.health() }) {
            case .returned(let health): health
            case .threw(let error): .unhealthy("\(error)")
            case .abandoned: .unhealthy("no answer in time")
            }
        }
        return Dictionary(zip(services.map(\.member.path), healths)) { first, _ in first }
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
            return try self.adopt(registry, settings)
        }
        let entry = Entry(service, group: self.id, settings: settings)
        try RegistryStart(self.core.home).add([entry])
        return Registration(.service(entry.id), self.core)
    }

    /// Takes over all services of a registry that was not started, as a group of this one.
    private func adopt(_ registry: ServiceRegistry, _ settings: ServiceSettings) throws(RegistryError) -> Registration {
        let (core, home) = (registry.core, self.core.home)
        guard core !== home, core.home === core else {
            throw RegistryError(
                code: .notNestable, message: "\(registry.name) is nested already", paths: [registry.name.rawValue])
        }
        let content = try core.machine { machine throws(RegistryError) in try machine.surrender() }
        let group = Group(
            id: registry.id, parent: self.id, name: settings.name ?? registry.name,
            placement: settings.placement ?? registry.placement,
            importance: settings.importance ?? registry.importance, origin: settings.origin,
            registry: { [weak registry] in registry }, leave: { registry.core.setHome(nil) })
        do {
            try RegistryStart(home).add(content.entries, groups: [group] + content.groups)
        } catch {
            core.machine { $0.restore(content) }
            throw error
        }
        let observers = core.fanout { $0.surrender() }
        core.setHome(home)
        for report in core.takeTotals() { home.addTotals(report) }
        let known = Set(content.entries.map { $0.id })
        home.fanout { fanout in
            for mailbox in observers where !known.contains(mailbox.recipient.id) {
                fanout.add(mailbox)
            }
        }
        let members = content.entries.map { $0.id }
        return Registration(.group(registry.id, registration: group.registration, members: members), home)
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
        let core = self.core.home
        core.reportTotals()
        let receiver = Receiver.observer(Event.familyID) { [weak object] stamped in
            guard let event = stamped.event as? Event else { return true }
            guard let object else { return false }
            await handler(object, stamped.with(event))
            return true
        }
        core.fanout { fanout in
            let recipient = Recipient(
                id: id, path: "\(self.name).observer#\(fanout.nextObserver())", capacity: mailbox,
                limit: .seconds(1), receiver: receiver)
            fanout.add(Mailbox(recipient))
        }
        EventDelivery(core).open(id)
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
        EventDelivery(self.core.home).emit(event(), cause: cause)
    }

    /// Whether a family has observers, or its events are kept for later ones.
    ///
    /// Check it before you collect the facts for an event.
    package func hasAudience<Event: LifecycleEvent>(for type: Event.Type) -> Bool {
        EventDelivery(self.core.home).hasAudience(for: type)
    }

    /// Adds a closure that emits the running totals which have changed since it was last called.
    ///
    /// It is called before a service comes, and before a service that is stopped gets its last events.
    package func addTotals(_ report: @escaping @Sendable () -> Void) { self.core.home.addTotals(report) }

    /// Emits an event and waits until its observers have handled all their events, each within its own budget and `limit`.
    ///
    /// Services get it in order with all other events. The call does not wait for services that are not ready.
    public func barrier<Event: LifecycleEvent>(_ event: Event, within limit: Duration? = nil) async {
        await EventDelivery(self.core.home).barrier(event, within: limit)
    }

    /// Asks every ready service that adopts `responder`, all at once.
    ///
    /// - Parameters:
    ///   - responder: The protocol, such as `(any UploadDeciding).self`.
    ///   - limit: The longest wait; a service's own budget may be shorter.
    ///   - onFault: The answer that stands in for one that threw or did not come, with the reason.
    ///   - body: Asks one service.
    /// - Returns: The answers in the order of start, which nesting does not change; merge them by `reduce`.
    public func ask<Responder: Sendable, Answer: Sendable>(
        _ responder: Responder.Type, within limit: Duration? = nil,
        onFault: @escaping @Sendable (Responder, String) -> Answer,
        _ body: @escaping @Sendable (Responder, ServiceScope) async throws -> Answer
    ) async -> [Answer] {
        let core = self.core.home
        let events = EventDelivery(core)
        return await RegistryCore.concurrently(core.responders(responder)) { member, responder -> Answer in
            switch await core.ask(member, within: limit, { try await body(responder, $0) }) {
            case .returned(let answer): return answer
            case .threw(let error):
                events.fault(member.path, .handlerFailed, "answering threw: \(error)")
                return onFault(responder, "\(member.path): \(error)")
            case .abandoned:
                let own = member.entry.budgets.handle
                events.fault(
                    member.path, .limitHit, "answering takes longer than \(min(own, limit ?? own))",
                    hint: "budgets.handle is \(own)")
                return onFault(responder, "\(member.path): no answer in time")
            }
        }
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

    /// The same, each with the member of this registry that it is, or is nested in, and whether it is required.
    package func located<Wanted>(_ type: Wanted.Type) -> [(member: ServiceName, isRequired: Bool, service: Wanted)] {
        let (own, required) = self.core.home.machine { machine in
            let required = machine.members.values.filter { machine.isRequired($0.entry.id) }
            return (machine.groups.path(of: self.id), Set(required.map(\.path)))
        }
        return self.core.home.candidates(type, in: self.id).map { path, service in
            let member = String(path.dropFirst(own.count + 1).prefix { $0 != "." })
            return (ServiceName(rawValue: member), required.contains(path), service)
        }
    }
}

// MARK: - For the SDK

extension ServiceRegistry {
    /// Calls a ready service as the registry itself does: on its threads, and no longer than it may handle an event.
    ///
    /// - Parameters:
    ///   - name: the name of a service that was registered here.
    ///   - body: the call.
    /// - Throws: ``RegistryError`` with code `notFound` when it is not there or not ready; or `abandoned`; else what
    ///   `body` throws.
    package func call(
        _ name: ServiceName, _ body: @escaping @Sendable (any LifecycleService) async throws -> Void
    ) async throws {
        let core = self.core.home
        let member = core.machine { machine in
            machine.members.values.first { $0.entry.group == self.id && $0.entry.name == name && $0.state == .ready }
        }
        guard let member else { throw RegistryError(code: .notFound, message: "there is no ready service '\(name)'") }
        let limit = member.entry.budgets.handle
        switch await core.call(member, until: core.later(limit), { service, _ in try await body(service) }) {
        case .returned: ()
        case .threw(let error): throw error
        case .abandoned:
            throw RegistryError(
                code: .abandoned, message: "no answer within \(limit)", paths: [member.path])
        }
    }

    /// The services of the outermost registry, by path.
    package var inspected: [InspectedService] {
        let core = self.core.home
        let members = core.machine { machine in
            machine.members.map { id, member in (id, member.path, member.entry, member.state) }
        }
        let mailboxes = core.fanout { fanout in members.map { fanout.inspected($0.0) } }
        return zip(members, mailboxes).map { member, mailbox in
            InspectedService(
                path: member.1, phase: member.2.placement.phase?.rawValue, priority: member.2.placement.priority,
                state: member.3, origin: member.2.origin, mailbox: mailbox ?? InspectedMailbox())
        }.sorted { $0.path < $1.path }
    }
}
