#if Metrics
public import CoreMetrics
public import LinkspanLifecycle
public import LinkspanMessaging
internal import LinkspanRuntime

/// A service that counts and times connections, messages and queues, for any back end of swift-metrics.
///
/// Every name begins with the prefix, `linkspan` by default:
///
/// | name | kind | labels | meaning |
/// | --- | --- | --- | --- |
/// | `connects_total` | counter | `endpoint` | a connection opened for the first time |
/// | `reconnects_total` | counter | `endpoint` | a connection opened again |
/// | `disconnects_total` | counter | `endpoint`, `code` | a connection that was up went down; `requested` without an error |
/// | `failed_attempts_total` | counter | `endpoint`, `code` | a connection that was down stays so |
/// | `handshake_time` | timer | `endpoint` | from the attempt to the open connection |
/// | `ping_time` | timer | `endpoint` | the round trip by the wire's ping or the connection's probe |
/// | `sent_total`, `sent_bytes_total` | counter | `endpoint` | messages that a link took |
/// | `received_total`, `received_bytes_total` | counter | `endpoint` | received messages |
/// | `delivered_total` | counter | `endpoint` | messages that the server confirmed |
/// | `round_trip_time` | timer | `endpoint` | how long the confirmation took |
/// | `timed_out_total` | counter | `endpoint` | messages without an answer in time |
/// | `expired_total` | counter | `endpoint` | messages that waited too long to be sent |
/// | `dropped_total` | counter | `endpoint` | messages that were given up |
/// | `queue_depth` | gauge | `endpoint` | commands that waited to be sent at the last report |
/// | `faults_total` | counter | `code`, `severity` | faults that were not returned to a caller |
/// | `events_missed_total` | counter | `family` | events that this service missed, so that the others count too low |
///
/// Labels are bounded: endpoints are without query and credentials, names of events and texts are no labels at all, and
/// the sixty-fifth value of a label becomes `other`. State that is replayed to a late service is not counted again.
///
/// Counts of messages are exact. They come as running totals, so round trips are recorded as the mean of each interval, as often as
/// there were any.
public final class MetricsService: LifecycleService {
    /// The name in registries and configuration.
    public let name: ServiceName = "metrics"
    /// Behind other threads, since the service only observes.
    public let urgency: Urgency = .utility
    /// Among the first, so that it sees the others start.
    public let placement = Placement(phase: .core, priority: 90)

    private struct State: Sendable {
        var options: Options
        var book = MetricsBook()
        var instruments: Instruments
        var traffic = TrafficIncreases()
    }

    private let factory: any MetricsFactory
    // Guards options, book and instruments: the thread that handles events contends with reconfiguration.
    private let state: Lock<State>

    /// Options of the service.
    public struct Options: Sendable, Hashable {
        /// The prefix of every metric's name.
        ///
        /// Default `linkspan`.
        public var prefix: String

        /// Makes options; the defaults are those named at the properties.
        public init(prefix: String = "linkspan") { self.prefix = prefix }
    }

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - options: the options.
    ///   - factory: where measurements go; nil for the backend of the process, as it is now.
    public init(options: Options = Options(), factory: (any MetricsFactory)? = nil) {
        let factory = factory ?? MetricsSystem.factory
        self.factory = factory
        self.state = Lock(
            State(options: options, instruments: Instruments(prefix: options.prefix, factory: factory)))
    }

    /// The options; measurements after a change have the new names.
    public var options: Options {
        get { self.state.withLock { $0.options } }
        set {
            let instruments = Instruments(prefix: newValue.prefix, factory: self.factory)
            self.state.withLock { state in
                guard state.options != newValue else { return }
                state.options = newValue
                state.instruments = instruments
            }
        }
    }
}

extension MetricsService {
    /// Decides under the lock what is measured, and calls the backend outside.
    private func record<Event: LifecycleEvent>(
        _ event: Stamped<Event>, _ measure: (inout MetricsBook) -> [Measurement]
    ) {
        let (measurements, instruments) = self.state.withLock { state in
            (state.book.missed(event.gap, of: Event.familyName) + measure(&state.book), state.instruments)
        }
        for measurement in measurements {
            self.instrument(for: measurement, of: instruments).record(measurement.value)
        }
    }

    private func instrument(for measurement: Measurement, of instruments: Instruments) -> Instruments.Instrument {
        if let known = instruments.instrument(for: measurement) { return known }
        let made = instruments.make(measurement)
        return self.state.withLock { state in
            guard state.instruments.prefix == instruments.prefix else { return made }
            state.instruments.keep(made, for: measurement)
            return state.instruments.instrument(for: measurement) ?? made
        }
    }
}

extension MetricsService: ConnectionObserving, TrafficObserving, BufferObserving, FaultObserving {
    /// Counts connects, reconnects and disconnects, and times handshakes.
    public func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
        if case .released = event.event.kind {
            self.state.withLock { $0.traffic.forget(connection: event.event.connection) }
        }
        self.record(event) { $0.note(event.event, isReplayed: event.replayed) }
    }

    /// Counts messages by outcome, and times round trips.
    public func on(_ event: Stamped<TrafficEvent>, _ scope: ServiceScope) async throws {
        let increase = self.state.withLock { $0.traffic.note(event) }
        self.record(event) { $0.note(increase, of: event.event.connection) }
    }

    /// Follows the depth of queues.
    public func on(_ event: Stamped<BufferEvent>, _ scope: ServiceScope) async throws {
        self.record(event) { $0.note(event.event) }
    }

    /// Counts faults.
    public func on(_ event: Stamped<FaultEvent>, _ scope: ServiceScope) async throws {
        self.record(event) { $0.note(event.event) }
    }
}
#endif
