public import LinkspanLifecycle

/// A service that follows the states of connections.
public protocol ConnectionObserving: LifecycleService {
    /// Handles one event; an error becomes a fault and does not affect other services.
    func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows queues.
public protocol BufferObserving: LifecycleService {
    /// Handles one event; an error becomes a fault and does not affect other services.
    func on(_ event: Stamped<BufferEvent>, _ scope: ServiceScope) async throws
}

/// A service that follows credentials and users.
public protocol AuthenticationObserving: LifecycleService {
    /// Handles one event; an error becomes a fault and does not affect other services.
    func on(_ event: Stamped<AuthenticationEvent>, _ scope: ServiceScope) async throws
}
