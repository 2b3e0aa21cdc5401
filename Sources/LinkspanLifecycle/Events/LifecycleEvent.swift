/// An event of any family.
@nonexhaustive
public enum LifecycleEvent: Sendable, Hashable {
    /// The application's phase.
    case app(AppEvent)
    /// The network path.
    case network(NetworkEvent)
    /// A connection's state.
    case connection(ConnectionEvent)
    /// A message.
    case message(MessageEvent)
    /// A queue.
    case buffer(BufferEvent)
    /// Credentials and users.
    case authentication(AuthenticationEvent)
    /// A shortage.
    case pressure(PressureEvent)
    /// A fault.
    case fault(FaultEvent)
    /// The registry itself.
    case registry(RegistryEvent)

    /// The family of the event.
    public var family: EventFamily {
        switch self {
        case .app: .app
        case .network: .network
        case .connection: .connection
        case .message: .message
        case .buffer: .buffer
        case .authentication: .authentication
        case .pressure: .pressure
        case .fault: .fault
        case .registry: .registry
        }
    }

    var retention: Retention {
        switch self {
        case .app(let event): event.retention
        case .network(let event): event.retention
        case .connection(let event): event.retention
        case .message: .none
        case .buffer(let event): event.retention
        case .authentication(let event): event.retention
        case .pressure(let event): event.retention
        case .fault: .none
        case .registry(let event): event.retention
        }
    }
}

/// The families that a service can be interested in.
@nonexhaustive
public enum EventFamily: UInt8, Sendable, Hashable, CaseIterable {
    /// Events of ``AppEvent``.
    case app
    /// Events of ``NetworkEvent``.
    case network
    /// Events of ``ConnectionEvent``.
    case connection
    /// Events of ``MessageEvent``.
    case message
    /// Events of ``BufferEvent``.
    case buffer
    /// Events of ``AuthenticationEvent``.
    case authentication
    /// Events of ``PressureEvent``.
    case pressure
    /// Events of ``FaultEvent``.
    case fault
    /// Events of ``RegistryEvent``.
    case registry

    /// Whether the family has states that late services are told, so that it must be recorded without observers too.
    var isRetained: Bool {
        switch self {
        case .message, .fault: false
        case .app, .network, .connection, .buffer, .authentication, .pressure, .registry: true
        }
    }
}

/// An event type that forms a family.
public protocol FamilyEvent: Sendable, Hashable {
    /// The family it forms.
    static var family: EventFamily { get }

    /// The event among those of all families.
    var erased: LifecycleEvent { get }

    /// Picks the event out of those of all families; `nil` if it belongs to another.
    init?(_ event: LifecycleEvent)
}

/// What a registry remembers of an event for services that come later.
enum Retention: Sendable, Hashable {
    case none
    case keep(StickyKey)
    case forget(StickyKey)
}

/// A thing that has one current state.
enum StickyKey: Sendable, Hashable {
    case app
    case protectedData
    case network
    case connection(UInt64)
    case occupancy(UInt64)
    case buffer(UInt64?, BufferEvent.Queue)
    case authentication
    case disk
    case thermal
    case lowPower
    case registry
}
