/// A service that follows the application's phases.
public protocol AppObserving: LifecycleService {
    /// Handles one event; a throw becomes a fault and stops nobody else.
    func on(_ event: Stamped<AppEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows the network path.
public protocol NetworkObserving: LifecycleService {
    /// Handles one event; a throw becomes a fault and stops nobody else.
    func on(_ event: Stamped<NetworkEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows the states of connections.
public protocol ConnectionObserving: LifecycleService {
    /// Handles one event; a throw becomes a fault and stops nobody else.
    func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows messages; it is never on the path of sending.
public protocol MessageObserving: LifecycleService {
    /// Handles one event; a throw becomes a fault and stops nobody else.
    func on(_ event: Stamped<MessageEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows queues.
public protocol BufferObserving: LifecycleService {
    /// Handles one event; a throw becomes a fault and stops nobody else.
    func on(_ event: Stamped<BufferEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows credentials and users.
public protocol AuthenticationObserving: LifecycleService {
    /// Handles one event; a throw becomes a fault and stops nobody else.
    func on(_ event: Stamped<AuthenticationEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows shortages of memory, disk and power.
public protocol PressureObserving: LifecycleService {
    /// Handles one event; a throw becomes a fault and stops nobody else.
    func on(_ event: Stamped<PressureEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows faults of anything, the registry included.
public protocol FaultObserving: LifecycleService {
    /// Handles one event; a throw is counted but, to end the circle, makes no new fault.
    func on(_ event: Stamped<FaultEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows the registry itself.
public protocol RegistryObserving: LifecycleService {
    /// Handles one event; a throw becomes a fault and stops nobody else.
    func on(_ event: Stamped<RegistryEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows everything, such as a journal.
///
/// A service that also adopts a protocol of one family gets the events of that family there instead.
public protocol AnyEventObserving: LifecycleService {
    /// Handles one event; a throw becomes a fault and stops nobody else.
    func on(_ event: Stamped<LifecycleEvent>, _ scope: ServiceScope) async throws
}
