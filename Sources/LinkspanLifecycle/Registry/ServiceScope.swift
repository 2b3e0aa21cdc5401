/// A service's access to its registry during one call.
public struct ServiceScope: Sendable {
    /// The path of the service, from the outermost registry.
    public let path: String

    /// The time at which the registry stops waiting for this call; `nil` if it does not wait.
    public let deadline: ContinuousClock.Instant?

    let id: ServiceID
    private let core: WeakReference<RegistryCore>
    private let call: ServiceCall
    /// The number of the event that is being handled.
    private var cause: UInt64?

    init(
        path: String, deadline: ContinuousClock.Instant?, id: ServiceID, core: RegistryCore, call: ServiceCall
    ) {
        self.path = path
        self.deadline = deadline
        self.id = id
        self.core = WeakReference(core)
        self.call = call
    }

    /// The same scope for the handling of another event.
    func caused(by event: UInt64) -> Self {
        var scope = self
        scope.cause = event
        return scope
    }

    /// Whether the registry has abandoned this call; its result is ignored.
    public var isAbandoned: Bool { self.call.isAbandoned }

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
        let core = try self.live()
        let needs = core.machine { machine in
            (machine.plan.needs[self.id] ?? []).compactMap { machine.members[$0.to] }.filter { $0.state == .ready }
        }
        let found = needs.compactMap { member in (member.entry.service as? Wanted).map { (member.path, $0) } }
        if let only = found.first, found.count == 1 {
            return only.1
        }
        guard found.isEmpty else {
            throw RegistryError(
                code: .ambiguous, message: "\(self.path) needs several services of type \(type)",
                paths: found.map { $0.0 })
        }
        let others = core.candidates(type).map { $0.path }
        throw RegistryError(
            code: others.isEmpty ? .notFound : .notDeclared,
            message: others.isEmpty
                ? "there is no service of type \(type)"
                : "\(self.path) asks for \(others.joined(separator: ", ")) without declaring the need", paths: others)
    }

    private func live() throws(RegistryError) -> RegistryCore {
        guard !self.isAbandoned, let core = self.core.object else {
            throw RegistryError(code: .abandoned, message: "a call to \(self.path) was abandoned", paths: [self.path])
        }
        return core
    }
}
