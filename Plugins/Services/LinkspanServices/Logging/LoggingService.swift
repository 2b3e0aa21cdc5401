public import Linkspan
public import LinkspanLifecycle
public import LinkspanMessaging
public import Logging

// An actor for logger and families: the registry's calls of handlers contend with reconfiguration.
/// A service that writes events of connections, services and credentials as structured log lines.
///
/// Every line is a fixed sentence with metadata, so that lines can be counted and searched. Payloads, credentials,
/// queries of URLs and names of users are never written.
public actor LoggingService: LifecycleService {
    /// The name in registries and configuration.
    public nonisolated let name: ServiceName = "logging"
    /// Behind other threads, since the service only observes.
    public nonisolated let urgency: Urgency = .utility
    /// First of all, so that it sees the others start.
    public nonisolated let placement = Placement(phase: .core, priority: 100)
    private var logger: Logger
    /// The families of events that are logged.
    public private(set) var families: Set<Family>

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - logger: where lines go.
    ///   - level: the lowest level that is written; nil for the level of `logger`.
    ///   - families: the families to log.
    public init(logger: Logger, level: Logger.Level? = nil, families: Set<Family> = Family.standard) {
        var logger = logger
        if let level { logger.logLevel = level }
        self.logger = logger
        self.families = families
    }

    /// A family of events that can be logged.
    public enum Family: String, Sendable, Hashable, CaseIterable {
        /// States of connections.
        case connection
        /// Faults that were not returned to a caller.
        case fault
        /// Start, stop and states of services.
        case registry
        /// Renewal and loss of credentials.
        case authentication
        /// Queues that fill up or lose something.
        case buffer

        /// The families logged by default: connections, faults and services.
        public static let standard: Set<Self> = [.connection, .fault, .registry]
    }
}

extension LoggingService {
    /// Writes a line, with where its event stands among all others.
    func write<Event>(_ line: LogLine, _ family: Family, _ event: Stamped<Event>) {
        guard self.families.contains(family) else { return }
        var metadata = line.metadata
        metadata["seq"] = "\(event.seq)"
        if let cause = event.cause { metadata["cause"] = "\(cause)" }
        if event.replayed { metadata["replayed"] = "true" }
        if event.gap > 0 { metadata["gap"] = "\(event.gap)" }
        // What a server, a hub or a provider said may stand in any of them.
        metadata = metadata.mapValues { "\(ForeignText.line("\($0)", limit: 1_000))" }
        self.logger.log(level: line.level, line.sentence, metadata: metadata)
    }
}

extension LoggingService: Reconfigurable {
    /// Takes over the level and the families; both are hot.
    public func reconfigure(_ options: OptionValues) async throws {
        (self.logger.logLevel, self.families) = try Self.settings(options)
    }
}

extension LoggingService: ConnectionObserving, FaultObserving, RegistryObserving, AuthenticationObserving,
    BufferObserving
{
    /// Writes a connection's event.
    public func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
        self.write(LogLine(event.event), .connection, event)
    }

    /// Writes a fault.
    public func on(_ event: Stamped<FaultEvent>, _ scope: ServiceScope) async throws {
        self.write(LogLine(event.event), .fault, event)
    }

    /// Writes an event of the registry.
    public func on(_ event: Stamped<RegistryEvent>, _ scope: ServiceScope) async throws {
        self.write(LogLine(event.event), .registry, event)
    }

    /// Writes an event about credentials.
    public func on(_ event: Stamped<AuthenticationEvent>, _ scope: ServiceScope) async throws {
        self.write(LogLine(event.event), .authentication, event)
    }

    /// Writes a queue's event.
    public func on(_ event: Stamped<BufferEvent>, _ scope: ServiceScope) async throws {
        self.write(LogLine(event.event), .buffer, event)
    }
}
