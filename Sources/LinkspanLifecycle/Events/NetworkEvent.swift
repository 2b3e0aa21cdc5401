/// The network path changed.
public struct NetworkEvent: Sendable, Hashable {
    /// Whether traffic can flow.
    public enum Status: String, Sendable, Hashable {
        /// Traffic can flow.
        case satisfied
        /// Traffic cannot flow.
        case unsatisfied
        /// Traffic can flow once a connection is asked for.
        case needsConnection
    }

    /// A kind of interface.
    public struct Interface: RawRepresentable, Sendable, Hashable {
        /// The name of the kind.
        public var rawValue: String

        /// Makes a kind from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Wireless local network.
        public static let wifi = Interface(rawValue: "wifi")
        /// Mobile network.
        public static let cellular = Interface(rawValue: "cellular")
        /// Cable.
        public static let wired = Interface(rawValue: "wired")
        /// Anything else.
        public static let other = Interface(rawValue: "other")
    }

    /// Whether traffic can flow.
    public var status: Status
    /// What could carry it, best first.
    public var interfaces: [Interface]
    /// Whether it costs the user money.
    public var isExpensive: Bool
    /// Whether the user asked to save data.
    public var isConstrained: Bool
    /// The status before, if known.
    public var previous: Status?

    /// Makes an event.
    public init(
        status: Status, interfaces: [Interface] = [], isExpensive: Bool = false, isConstrained: Bool = false,
        previous: Status? = nil
    ) {
        self.status = status
        self.interfaces = interfaces
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
        self.previous = previous
    }

    var retention: Retention { .keep(.network) }
}

extension NetworkEvent: FamilyEvent {
    /// The family of these events.
    public static var family: EventFamily { .network }

    /// The event among those of all families.
    public var erased: LifecycleEvent { .network(self) }

    /// Picks the event out of those of all families; `nil` if it belongs to another.
    public init?(_ event: LifecycleEvent) {
        guard case .network(let own) = event else {
            return nil
        }
        self = own
    }
}
