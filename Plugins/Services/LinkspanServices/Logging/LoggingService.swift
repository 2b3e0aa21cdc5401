package import Linkspan
package import LinkspanLifecycle
package import LinkspanMessaging
package import Logging

// An actor for logger and families: the registry's calls of handlers contend with reconfiguration.
/// A service that writes events of connections, services and credentials as structured log lines.
///
/// Every line is a fixed sentence with metadata, so that lines can be counted and searched. Payloads, credentials,
/// queries of URLs and names of users are never written.
package actor LoggingService: LifecycleService {
    /// The name in registries and configuration.
    package nonisolated let name: ServiceName = "logging"
    /// Behind other threads, since the service only observes.
    package nonisolated let urgency: Urgency = .utility
    /// First of all, so that it sees the others start.
    package nonisolated let placement = Placement(phase: .core, priority: 100)
    private var logger: Logger
    /// The families of events that are logged.
    package private(set) var families: Set<Family>

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - logger: where lines go.
    ///   - level: the lowest level that is written; nil for the level of `logger`.
    ///   - families: the families to log.
    package init(logger: Logger, level: Logger.Level? = nil, families: Set<Family> = Family.standard) {
        var logger = logger
        if let level { logger.logLevel = level }
        self.logger = logger
        self.families = families
    }

    /// A family of events that can be logged.
    package enum Family: String, Sendable, Hashable, CaseIterable {
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
        package static let standard: Set<Self> = [.connection, .fault, .registry]
    }
}

extension LoggingService {
    /// Writes an event, with where it stands among all others.
    private func write(_ family: Family, _ event: Stamped<some LifecycleEvent>) {
        guard self.families.contains(family) else { return }
        let line = EventLine(event.event, quotesErrors: true)
        var metadata: Logger.Metadata = ["seq": "\(event.seq)"]
        // What a server, a hub or a provider said may stand in any of them.
        for (name, value) in line.facts { metadata[name] = "\(ForeignText.line(value, limit: 1_000))" }
        if let cause = event.cause { metadata["cause"] = "\(cause)" }
        if event.replayed { metadata["replayed"] = "true" }
        if event.gap > 0 { metadata["gap"] = "\(event.gap)" }
        self.logger.log(level: line.level, "\(line.sentence)", metadata: metadata)
    }
}

extension LoggingService {
    /// Takes over the level and the families; both are hot.
    package func reconfigure(_ options: OptionValues) async throws {
        (self.logger.logLevel, self.families) = try Self.settings(options)
    }
}

extension LoggingService: ConnectionObserving, FaultObserving, RegistryObserving {
    /// Writes a connection's event.
    package func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
        self.write(event.event.kind.family, event)
    }

    /// Writes a fault.
    package func on(_ event: Stamped<FaultEvent>, _ scope: ServiceScope) async throws {
        self.write(.fault, event)
    }

    /// Writes an event of the registry.
    package func on(_ event: Stamped<RegistryEvent>, _ scope: ServiceScope) async throws {
        self.write(.registry, event)
    }
}

extension ConnectionEvent.Kind {
    /// The family of log lines to which an event of this kind belongs.
    fileprivate var family: LoggingService.Family {
        switch self {
        case .created, .connecting, .connected, .disconnected, .reconnecting, .measured, .released: .connection
        case .queueChanged, .queueNearlyFull, .queueHasRoom, .queueFlushed: .buffer
        case .credentialsObtained, .credentialsRefreshed, .credentialsFailed, .credentialsRevoked: .authentication
        @unknown default: .connection
        }
    }
}
