/// A service that follows the application's phases.
public protocol AppObserving: LifecycleService {
    /// Handles one event; an error becomes a ``FaultEvent`` and does not affect other services.
    func on(_ event: Stamped<AppEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows the network path.
public protocol NetworkObserving: LifecycleService {
    /// Handles one event; an error becomes a ``FaultEvent`` and does not affect other services.
    func on(_ event: Stamped<NetworkEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows shortages of memory.
public protocol PressureObserving: LifecycleService {
    /// Handles one event; an error becomes a ``FaultEvent`` and does not affect other services.
    func on(_ event: Stamped<PressureEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows faults, those of the registry included.
public protocol FaultObserving: LifecycleService {
    /// Handles one event; an error makes no new fault, which would come back here.
    func on(_ event: Stamped<FaultEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows the registry itself.
public protocol RegistryObserving: LifecycleService {
    /// Handles one event; an error becomes a ``FaultEvent`` and does not affect other services.
    func on(_ event: Stamped<RegistryEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows every family, those that it does not know included, such as a journal.
///
/// A service that also adopts the protocol of a family gets the events of that family there instead.
public protocol AnyEventObserving: LifecycleService {
    /// Handles one event; an error becomes a ``FaultEvent`` and does not affect other services.
    func on(_ event: Stamped<any LifecycleEvent>, _ scope: ServiceScope) async throws
}
