/// The receiver of a mailbox's events.
enum Receiver: Sendable {
    /// A service, which gets each event by the handler that is closest to it.
    case service(any LifecycleService)
    /// A closure for the events of one family; false when it takes no more.
    case observer(FamilyID, @Sendable (Stamped<any LifecycleEvent>) async -> Bool)

    func takes(_ family: FamilyID) -> Bool {
        switch self {
        case .service(let service): service is any AnyEventObserving || family.type.isObserved(by: service)
        case .observer(let own, _): own == family
        }
    }

    /// Hands one event over; false when the receiver has gone.
    func deliver(_ stamped: Stamped<any LifecycleEvent>, _ scope: ServiceScope) async throws -> Bool {
        switch self {
        case .service(let service): try await stamped.event.deliver(stamped, to: service, scope)
        case .observer(_, let call): return await call(stamped)
        }
        return true
    }
}

extension LifecycleEvent {
    fileprivate static func isObserved(by service: any LifecycleService) -> Bool { service is Observer }

    fileprivate func deliver(
        _ stamped: Stamped<any LifecycleEvent>, to service: any LifecycleService, _ scope: ServiceScope
    ) async throws {
        if let observer = service as? Observer {
            try await Self.family.deliver(observer, stamped.with(self), scope)
        } else if let observer = service as? any AnyEventObserving {
            try await observer.on(stamped, scope)
        }
    }
}
