/// A change of a registry or of one of its services.
@nonexhaustive
public enum RegistryEvent: Sendable, Hashable {
    /// The start has begun.
    case willStart
    /// The start has ended well, after this time.
    case started(after: Duration)
    /// The registry works without these services; with none, all work again.
    case degraded(paths: [String])
    /// A service went from one state to another.
    case serviceChanged(path: String, from: ServiceState, to: ServiceState)
    /// The stop has begun and has this long.
    case willStop(budget: Duration)

    /// The state of the registry.
    var retention: Retention {
        switch self {
        case .willStart, .started, .degraded, .willStop: .keep(subject: "registry")
        case .serviceChanged: .none
        }
    }
}

extension RegistryEvent: LifecycleEvent {
    /// Family `registry`; the latest of each state is kept.
    public static var family: EventFamily<Self, any RegistryObserving> {
        .states("registry", retention: { $0.retention }) { try await $0.on($1, $2) }
    }
}

/// A service that follows the registry itself.
public protocol RegistryObserving: LifecycleService {
    /// Handles one event; an error becomes a ``FaultEvent`` and does not affect other services.
    func on(_ event: Stamped<RegistryEvent>, _ scope: ServiceScope) async throws
}
