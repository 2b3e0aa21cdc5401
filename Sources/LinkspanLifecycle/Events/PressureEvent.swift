/// A shortage of something the device or the process has little of.
@nonexhaustive
public enum PressureEvent: Sendable, Hashable {
    /// How bad it is.
    public enum Level: String, Sendable, Hashable {
        /// The shortage is over.
        case normal
        /// Free what is easily made again.
        case warning
        /// Free all that can be freed.
        case critical
    }

    /// Memory is short; the bytes are what is left, if known.
    case memory(Level, available: UInt64?)
    /// Disk space is short; both are bytes.
    case disk(free: UInt64, threshold: UInt64)
    /// The device is hot.
    case thermal(Level)
    /// The user switched saving power on or off.
    case lowPower(Bool)

    var retention: Retention {
        switch self {
        case .memory: .none
        case .disk: .keep(.disk)
        case .thermal: .keep(.thermal)
        case .lowPower: .keep(.lowPower)
        }
    }
}

extension PressureEvent: FamilyEvent {
    /// The family of these events.
    public static var family: EventFamily { .pressure }

    /// The event among those of all families.
    public var erased: LifecycleEvent { .pressure(self) }

    /// Picks the event out of those of all families; `nil` if it belongs to another.
    public init?(_ event: LifecycleEvent) {
        guard case .pressure(let own) = event else {
            return nil
        }
        self = own
    }
}
