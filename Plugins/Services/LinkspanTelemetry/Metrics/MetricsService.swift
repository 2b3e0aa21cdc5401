#if Metrics
internal import CoreMetrics
internal import LinkspanLifecycle
internal import LinkspanMessaging

// An actor for book and instruments: the registry's calls of handlers contend with reconfiguration.
/// Counts and times connections, messages and queues; ``ServiceFactory/metrics(factory:)`` names the figures.
actor MetricsService: LifecycleService {
    static let usualPrefix = "linkspan"

    nonisolated let name: ServiceName = "metrics"
    /// Behind other threads, since the service only observes.
    nonisolated let urgency: Urgency = .utility
    /// Among the first, so that it sees the others start.
    nonisolated let placement = Placement(phase: .core, priority: 90)

    private let factory: any MetricsFactory
    private var book = MetricsBook()
    private var instruments: Instruments
    private var traffic = TrafficIncreases()

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - prefix: the prefix of every metric's name.
    ///   - factory: where measurements go; nil for the backend of the process, as it is now.
    init(prefix: String = MetricsService.usualPrefix, factory: (any MetricsFactory)? = nil) {
        self.factory = factory ?? MetricsSystem.factory
        self.instruments = Instruments(prefix: prefix, factory: self.factory)
    }

    /// Gives later measurements other names.
    func use(prefix: String) {
        if self.instruments.prefix != prefix { self.instruments = Instruments(prefix: prefix, factory: self.factory) }
    }

    private func record<Event: LifecycleEvent>(_ event: Stamped<Event>, _ measurements: [Measurement]) {
        for measurement in self.book.missed(event.gap, of: Event.familyName) + measurements {
            self.instruments.record(measurement)
        }
    }
}

extension MetricsService: ConnectionObserving, TrafficObserving, FaultObserving {
    /// Counts connects, reconnects and disconnects, times handshakes, and follows the depth of queues.
    func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
        if case .released = event.event.kind { self.traffic.forget(connection: event.event.connection) }
        self.record(event, self.book.note(event.event, isReplayed: event.replayed))
    }

    /// Counts messages by outcome, and times round trips.
    func on(_ event: Stamped<TrafficEvent>, _ scope: ServiceScope) async throws {
        self.record(event, self.book.note(self.traffic.note(event), of: event.event.connection))
    }

    /// Counts faults.
    func on(_ event: Stamped<FaultEvent>, _ scope: ServiceScope) async throws {
        self.record(event, self.book.note(event.event))
    }
}
#endif
