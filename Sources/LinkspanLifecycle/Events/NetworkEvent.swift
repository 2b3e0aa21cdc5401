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

    /// The path of the machine.
    public var retention: Retention { .keep(RetentionKey(subject: "network")) }
}

extension NetworkEvent: LifecycleEvent {
    /// `network`.
    public static var familyName: String { "network" }

    /// The latest of each state is kept.
    public static var delivery: EventDelivery { .states }

    /// Hands an event to an observer.
    public static func deliver(
        _ event: Stamped<Self>, to observer: any NetworkObserving, _ scope: ServiceScope
    ) async throws {
        try await observer.on(event, scope)
    }
}
