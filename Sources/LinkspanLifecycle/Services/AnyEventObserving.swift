/// A service that follows every family, those that it does not know included, such as a journal.
///
/// A service that also adopts the protocol of a family gets the events of that family there instead.
public protocol AnyEventObserving: LifecycleService {
    /// Handles one event; an error becomes a ``FaultEvent`` and does not affect other services.
    func on(_ event: Stamped<any LifecycleEvent>, _ scope: ServiceScope) async throws
}
