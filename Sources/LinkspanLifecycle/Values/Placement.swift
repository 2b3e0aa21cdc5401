/// The place of a service in the order of start; stop is the exact reverse.
///
/// Declared needs come first, then the phase, then the priority, then the name.
public struct Placement: Sendable, Hashable {
    /// The phase, or `nil` for the phase of the enclosing registry (``Phase/feature`` at the top).
    public var phase: Phase?

    /// The services that must be ready before this one starts.
    public var needs: [Need]

    /// The services that start after this one, if they are there.
    public var before: [ServiceName]

    /// The rank among services of the same phase; higher is earlier.
    ///
    /// Priorities of enclosing registries are added.
    public var priority: Int

    /// Makes a placement; every part may be left out.
    public init(phase: Phase? = nil, needs: [Need] = [], before: [ServiceName] = [], priority: Int = 0) {
        self.phase = phase
        self.needs = needs
        self.before = before
        self.priority = priority
    }
}

extension Placement {
    /// A coarse step of the start; services of a phase wait for every lower phase.
    public struct Phase: RawRepresentable, Sendable, Hashable {
        /// The rank; lower starts earlier.
        public var rawValue: Int

        /// Makes a phase of a rank.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Services that all others use: logging, metrics, platform sources.
        public static let core = Phase(rawValue: 0)
        /// Storage.
        public static let storage = Phase(rawValue: 100)
        /// Authentication of the user.
        public static let authentication = Phase(rawValue: 200)
        /// Connections.
        public static let transport = Phase(rawValue: 300)
        /// Features, the default.
        public static let feature = Phase(rawValue: 400)
        /// Services that only observe.
        public static let observer = Phase(rawValue: 500)
    }

    /// Another service, or a whole nested registry, that must be ready first.
    public enum Need: Sendable, Hashable {
        /// A service that must be ready first; without it this one is not started, and a missing name is an error.
        case hard(ServiceName)
        /// A service that starts first if it is registered.
        case soft(ServiceName)

        /// The service that must be ready: a name, or a path from an enclosing registry such as `chat.presence`.
        package var name: ServiceName {
            switch self {
            case .hard(let name), .soft(let name): name
            }
        }

        /// Whether its absence or failure keeps this service from starting.
        package var isHard: Bool { self == .hard(self.name) }
    }
}
