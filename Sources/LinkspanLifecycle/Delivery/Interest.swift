/// What a service observes, found once by what it adopts.
struct Interest: Sendable {
    private let app: (any AppObserving)?
    private let network: (any NetworkObserving)?
    private let connection: (any ConnectionObserving)?
    private let message: (any MessageObserving)?
    private let buffer: (any BufferObserving)?
    private let authentication: (any AuthenticationObserving)?
    private let pressure: (any PressureObserving)?
    private let fault: (any FaultObserving)?
    private let registry: (any RegistryObserving)?
    private let any: (any AnyEventObserving)?

    init(_ service: any LifecycleService) {
        self.app = service as? any AppObserving
        self.network = service as? any NetworkObserving
        self.connection = service as? any ConnectionObserving
        self.message = service as? any MessageObserving
        self.buffer = service as? any BufferObserving
        self.authentication = service as? any AuthenticationObserving
        self.pressure = service as? any PressureObserving
        self.fault = service as? any FaultObserving
        self.registry = service as? any RegistryObserving
        self.any = service as? any AnyEventObserving
    }

    var families: [EventFamily] {
        guard self.any == nil else {
            return EventFamily.allCases
        }
        let pairs: [(EventFamily, Bool)] = [
            (.app, self.app != nil), (.network, self.network != nil), (.connection, self.connection != nil),
            (.message, self.message != nil), (.buffer, self.buffer != nil),
            (.authentication, self.authentication != nil), (.pressure, self.pressure != nil),
            (.fault, self.fault != nil), (.registry, self.registry != nil),
        ]
        return pairs.filter { $0.1 }.map { $0.0 }
    }

    /// Calls the handler that is closest to the event.
    func deliver(_ stamped: Stamped<LifecycleEvent>, _ scope: ServiceScope) async throws {
        switch stamped.event {
        case .app(let event):
            guard let own = self.app else { break }
            return try await own.on(stamped.with(event), scope)
        case .network(let event):
            guard let own = self.network else { break }
            return try await own.on(stamped.with(event), scope)
        case .connection(let event):
            guard let own = self.connection else { break }
            return try await own.on(stamped.with(event), scope)
        case .message(let event):
            guard let own = self.message else { break }
            return try await own.on(stamped.with(event), scope)
        case .buffer(let event):
            guard let own = self.buffer else { break }
            return try await own.on(stamped.with(event), scope)
        case .authentication(let event):
            guard let own = self.authentication else { break }
            return try await own.on(stamped.with(event), scope)
        case .pressure(let event):
            guard let own = self.pressure else { break }
            return try await own.on(stamped.with(event), scope)
        case .fault(let event):
            guard let own = self.fault else { break }
            return try await own.on(stamped.with(event), scope)
        case .registry(let event):
            guard let own = self.registry else { break }
            return try await own.on(stamped.with(event), scope)
        }
        try await self.any?.on(stamped, scope)
    }
}
