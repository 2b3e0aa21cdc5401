/// A shortage of something the device or the process has little of.
@nonexhaustive
public enum PressureEvent: Sendable, Hashable {
    /// How bad it is.
    public enum Level: Sendable, Hashable {
        /// The shortage is over.
        case normal
        /// Free what is easily made again.
        case warning
        /// Free all that can be freed.
        case critical
    }

    /// Memory is short; the bytes are what is left, if known.
    case memory(Level, available: UInt64?)
}

extension PressureEvent: LifecycleEvent {
    /// `pressure`.
    public static var familyName: String { "pressure" }

    /// Hands an event to an observer.
    public static func deliver(
        _ event: Stamped<Self>, to observer: any PressureObserving, _ scope: ServiceScope
    ) async throws {
        try await observer.on(event, scope)
    }
}
