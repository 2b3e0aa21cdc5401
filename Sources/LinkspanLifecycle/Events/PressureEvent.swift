/// A shortage of something the device or the process has little of.
@nonexhaustive
public enum PressureEvent: Sendable, Hashable {
    /// The severity of the pressure.
    public enum Level: Sendable, Hashable {
        /// The shortage is over.
        case normal
        /// Free memory whose contents are easily recreated.
        case warning
        /// Free all that can be freed.
        case critical
    }

    /// Memory is short; the bytes are those left, if known.
    case memory(Level, available: UInt64?)
}

extension PressureEvent: LifecycleEvent {
    /// Family `pressure`.
    public static var family: EventFamily<Self, any PressureObserving> {
        .news("pressure") { try await $0.on($1, $2) }
    }
}

/// A service that follows shortages of memory.
public protocol PressureObserving: LifecycleService {
    /// Handles one event; an error becomes a ``FaultEvent`` and does not affect other services.
    func on(_ event: Stamped<PressureEvent>, _ scope: ServiceScope) async throws
}
