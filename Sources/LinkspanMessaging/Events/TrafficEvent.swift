public import LinkspanLifecycle

/// The message traffic of one event on one connection, as running totals since the connection was made.
///
/// Reported while it changes, once in the `trafficInterval` that its manager was made with,
/// and before the connection's end and the registry's stop. The newest event replaces an older one that still waits for a service,
/// and the totals are exact; ``TrafficIncreases`` says what was added. To see each message, listen to the connection.
public struct TrafficEvent: Sendable, Hashable {
    /// Numbers of messages, and of the bytes of their arguments.
    public struct Totals: Sendable, Hashable {
        /// Messages that a link took.
        public var sent = 0
        /// The bytes of the messages that a link took.
        public var sentBytes = 0
        /// Messages received from the server.
        public var received = 0
        /// The bytes of the messages received from the server.
        public var receivedBytes = 0
        /// Requests and deliveries that the server confirmed.
        public var acknowledged = 0
        /// The round trips of confirmed requests and deliveries, added up.
        public var roundTrips: Duration = .zero
        /// Requests and deliveries without an answer in time.
        public var timedOut = 0
        /// Commands that expired before they could be sent.
        public var expired = 0
        /// Commands that were given up.
        public var dropped = 0

        /// No traffic.
        package init() {}

        /// The totals without those of an earlier time.
        static func - (totals: Self, earlier: Self) -> Self {
            var rest = totals
            rest.sent -= earlier.sent
            rest.sentBytes -= earlier.sentBytes
            rest.received -= earlier.received
            rest.receivedBytes -= earlier.receivedBytes
            rest.acknowledged -= earlier.acknowledged
            rest.roundTrips -= earlier.roundTrips
            rest.timedOut -= earlier.timedOut
            rest.expired -= earlier.expired
            rest.dropped -= earlier.dropped
            return rest
        }
    }

    /// The connection's number.
    public var connection: UInt64
    /// The name of the event; empty for the events of a connection after its first 256.
    public var event: String
    /// The totals.
    public var totals: Totals
}

extension TrafficEvent: LifecycleEvent {
    /// Family `traffic`; the newest totals are kept.
    public static var family: EventFamily<Self, any TrafficObserving> {
        .totals("traffic", retention: { $0.retention }) { try await $0.on($1, $2) }
    }

    private var retention: Retention {
        .keep(subject: ConnectionEvent.subject(self.connection), aspect: "traffic of \(self.event)")
    }
}

/// A service that follows the message traffic of connections.
public protocol TrafficObserving: LifecycleService {
    /// Handles one event; an error becomes a fault and does not affect other services.
    func on(_ event: Stamped<TrafficEvent>, _ scope: ServiceScope) async throws
}

/// The latest totals of connections, to find out what an event adds to them.
public struct TrafficIncreases: Sendable {
    private var latest: [UInt64: [String: TrafficEvent.Totals]] = [:]

    /// Makes a value that knows no totals.
    public init() {}

    /// Notes the totals of an event.
    ///
    /// - Parameter event: the event; a replayed one adds nothing, since its messages are older than the service.
    /// - Returns: the traffic since the last event about the same connection and event.
    public mutating func note(_ event: Stamped<TrafficEvent>) -> TrafficEvent.Totals {
        let totals = event.event.totals
        let former = self.latest[event.event.connection, default: [:]].updateValue(totals, forKey: event.event.event)
        return event.replayed ? TrafficEvent.Totals() : totals - (former ?? TrafficEvent.Totals())
    }

    /// Forgets a connection that was released.
    public mutating func forget(connection: UInt64) { self.latest[connection] = nil }
}
