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
    /// The interfaces that could carry the traffic, best first.
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
}

extension NetworkEvent: LifecycleEvent {
    /// Family `network`; the latest of each state is kept.
    public static var family: EventFamily<Self, any NetworkObserving> {
        .states("network", retention: { _ in .keep(subject: "network") }) { try await $0.on($1, $2) }
    }
}

/// A service that follows the network path.
public protocol NetworkObserving: LifecycleService {
    /// Handles one event; an error becomes a ``FaultEvent`` and does not affect other services.
    func on(_ event: Stamped<NetworkEvent>, _ scope: ServiceScope) async throws
}
