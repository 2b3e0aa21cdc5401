/// The network path changed.
public struct NetworkEvent: Sendable, Hashable {
    /// Whether traffic can flow.
    public enum Status: Sendable, Hashable {
        /// Traffic can flow.
        case satisfied
        /// Traffic cannot flow.
        case unsatisfied
        /// Traffic can flow once a connection is asked for.
        case needsConnection
    }

    /// A kind of interface.
    @nonexhaustive
    public enum Interface: Sendable, Hashable {
        /// Wireless local network.
        case wifi
        /// Mobile network.
        case cellular
        /// Cable.
        case wired
        /// Anything else.
        case other
    }

    /// Whether traffic can flow.
    public var status: Status
    /// What could carry it, best first.
    public var interfaces: [Interface]
    /// Whether it costs the user money.
    public var isExpensive: Bool
    /// Whether the user asked to save data.
    public var isConstrained: Bool

    /// Makes an event.
    public init(
        status: Status, interfaces: [Interface] = [], isExpensive: Bool = false, isConstrained: Bool = false
    ) {
        self.status = status
        self.interfaces = interfaces
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
    }

    /// The path of the machine.
    public var retention: Retention { .keep(subject: "network") }
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
