/// What happens to the registry and its services.
@nonexhaustive
public enum RegistryEvent: Sendable, Hashable {
    /// The start has begun.
    case willStart
    /// The start has ended well, after this time.
    case started(after: Duration)
    /// The registry works without these services.
    case degraded(paths: [String])
    /// A service went from one state to another.
    case serviceChanged(path: String, from: ServiceState, to: ServiceState)
    /// The stop has begun and has this long.
    case willStop(budget: Duration)

    var retention: Retention {
        switch self {
        case .willStart, .started, .degraded, .willStop: .keep(.registry)
        case .serviceChanged: .none
        }
    }
}

extension RegistryEvent: FamilyEvent {
    /// The family of these events.
    public static var family: EventFamily { .registry }

    /// The event among those of all families.
    public var erased: LifecycleEvent { .registry(self) }

    /// Picks the event out of those of all families; `nil` if it belongs to another.
    public init?(_ event: LifecycleEvent) {
        guard case .registry(let own) = event else {
            return nil
        }
        self = own
    }
}
