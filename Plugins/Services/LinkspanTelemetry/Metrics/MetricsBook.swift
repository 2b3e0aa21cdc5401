#if Metrics
internal import LinkspanLifecycle
internal import LinkspanMessaging

/// Decides what is measured about events.
///
/// Keeps the facts of a connection that its events leave out, and bounds labels.
struct MetricsBook: Sendable {
    private struct Known: Sendable {
        var endpoint: String
        var isUp = false
        var hasBeenUp = false
        var depth: Int?
    }

    private var connections: [UInt64: Known] = [:]
    private var endpoints = BoundedValues()
    private var codes = BoundedValues()

    /// Events that were not heard.
    func missed(_ count: Int, of family: String) -> [Measurement] {
        count > 0 ? [Measurement("events_missed_total", ["family": family], .count(count))] : []
    }

    mutating func note(_ event: ConnectionEvent, isReplayed: Bool) -> [Measurement] {
        switch event.kind {
        case .released: return self.forget(event.connection)
        case .queueChanged(let depth, _), .queueNearlyFull(let depth, _), .queueHasRoom(let depth, _):
            return self.note(depth: depth, of: event.connection)
        case .queueFlushed: return self.note(depth: 0, of: event.connection)
        case .credentialsObtained, .credentialsRefreshed, .credentialsFailed, .credentialsRevoked: return []
        default: ()
        }
        let endpoint = self.endpoints.admit(event.endpoint)
        var known = self.connections[event.connection] ?? Known(endpoint: endpoint)
        // A connection can move, and waiting commands move with it.
        let former = known.endpoint
        known.endpoint = endpoint
        let (wasUp, hadBeenUp) = (known.isUp, known.hasBeenUp)
        switch event.kind {
        case .connected: (known.isUp, known.hasBeenUp) = (true, true)
        case .disconnected: known.isUp = false
        default: ()
        }
        self.connections[event.connection] = known
        guard !isReplayed else { return [] }
        let isMoved = former != endpoint && known.depth != nil
        return (isMoved ? [self.queueDepth(at: former), self.queueDepth(at: endpoint)] : [])
            + self.measurements(of: event.kind, at: endpoint, wasUp: wasUp, hadBeenUp: hadBeenUp)
    }

    private mutating func measurements(
        of kind: ConnectionEvent.Kind, at endpoint: String, wasUp: Bool, hadBeenUp: Bool
    ) -> [Measurement] {
        switch kind {
        case .connected(_, let handshake, _, _):
            return [
                Measurement(hadBeenUp ? "reconnects_total" : "connects_total", ["endpoint": endpoint]),
                Measurement("handshake_time", ["endpoint": endpoint], .times(handshake)),
            ]
        // A stop that was asked for is no failed attempt.
        case .disconnected(_, nil, _) where !wasUp: return []
        case .disconnected(_, let code, _):
            let code = self.codes.admit(code ?? "requested")
            return [
                Measurement(
                    wasUp ? "disconnects_total" : "failed_attempts_total", ["endpoint": endpoint, "code": code])
            ]
        case .measured(let roundTrip):
            return [Measurement("ping_time", ["endpoint": endpoint], .times(roundTrip))]
        default: return []
        }
    }

    /// The connection is gone, and its queue with it.
    private mutating func forget(_ connection: UInt64) -> [Measurement] {
        guard let known = self.connections.removeValue(forKey: connection) else { return [] }
        return known.depth == nil ? [] : [self.queueDepth(at: known.endpoint)]
    }

    /// The measurements of the messages by which a connection's traffic has grown.
    func note(_ increase: TrafficEvent.Totals, of connection: UInt64) -> [Measurement] {
        let counts = [
            ("sent_total", increase.sent), ("sent_bytes_total", increase.sentBytes),
            ("received_total", increase.received), ("received_bytes_total", increase.receivedBytes),
            ("delivered_total", increase.acknowledged), ("timed_out_total", increase.timedOut),
            ("expired_total", increase.expired), ("dropped_total", increase.dropped),
        ]
        let endpoint = self.endpoint(of: connection)
        let measurements = counts.filter { $0.1 > 0 }
            .map { Measurement($0.0, ["endpoint": endpoint], .count($0.1)) }
        guard increase.acknowledged > 0 else { return measurements }
        let mean = increase.roundTrips / increase.acknowledged
        let times = Measurement.Value.times(mean, increase.acknowledged)
        return measurements + [Measurement("round_trip_time", ["endpoint": endpoint], times)]
    }

    private mutating func note(depth: Int, of connection: UInt64) -> [Measurement] {
        let endpoint = self.endpoint(of: connection)
        guard self.connections[connection] != nil else {
            return [Measurement("queue_depth", ["endpoint": endpoint], .level(depth))]
        }
        self.connections[connection]?.depth = depth
        return [self.queueDepth(at: endpoint)]
    }

    mutating func note(_ event: FaultEvent) -> [Measurement] {
        let code = self.codes.admit(event.code.rawValue)
        return [Measurement("faults_total", ["code": code, "severity": "\(event.severity)"])]
    }

    private func endpoint(of connection: UInt64) -> String { self.connections[connection]?.endpoint ?? "unknown" }

    /// The waiting commands of all connections of an endpoint, which the labels do not distinguish.
    private func queueDepth(at endpoint: String) -> Measurement {
        let depth = self.connections.values.reduce(0) { sum, known in
            known.endpoint == endpoint ? sum + (known.depth ?? 0) : sum
        }
        return Measurement("queue_depth", ["endpoint": endpoint], .level(depth))
    }
}

/// The values of a label, up to a limit, and `other` beyond it.
struct BoundedValues: Sendable {
    static let limit = 64

    private var known: Set<String> = []

    mutating func admit(_ value: String) -> String {
        if self.known.contains(value) { return value }
        guard self.known.count < Self.limit else { return "other" }
        self.known.insert(value)
        return value
    }
}
#endif
