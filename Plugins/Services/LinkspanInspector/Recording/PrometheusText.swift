internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging

/// Writes the figures as Prometheus text, version 0.0.4.
enum PrometheusText {
    static func write(_ batch: InspectorBatch) -> [UInt8] {
        var text = ""
        let rows = batch.connections
        Self.family("linkspan_connections", "gauge", "Connections by state.", to: &text)
        for state in ["created", "connected", "disconnected", "reconnecting", "released"] {
            let count = rows.count { $0.state == state }
            text += "linkspan_connections{state=\"\(state)\"} \(count)\n"
        }
        let totals = batch.totals
        let sums: [(String, String, UInt64)] = [
            ("linkspan_messages_sent_total", "Messages that a link took.", totals.sent),
            ("linkspan_messages_received_total", "Messages received.", totals.received),
            ("linkspan_sent_bytes_total", "Bytes of the arguments of sent messages.", totals.sentBytes),
            ("linkspan_received_bytes_total", "Bytes of the arguments of received messages.", totals.receivedBytes),
            ("linkspan_replies_total", "Requests and deliveries that were answered.", totals.answered),
            ("linkspan_failures_total", "Commands that ended with an error.", totals.failed),
        ]
        for (name, help, value) in sums {
            Self.family(name, "counter", help, to: &text)
            text += "\(name) \(value)\n"
        }
        Self.connections("linkspan_connection_up", "Whether the connection is up.", rows, to: &text) { row in
            row.state == "connected" ? 1 : 0
        }
        Self.connections(
            "linkspan_connection_round_trip_seconds", "The latest measured round trip.", rows, to: &text
        ) { $0.roundTrip.map { $0 / .seconds(1) } }
        Self.connections("linkspan_connection_waiting", "Commands without an outcome.", rows, to: &text) { row in
            Double(row.waiting)
        }
        Self.connections("linkspan_connection_in_flight", "Commands whose replies are awaited.", rows, to: &text) {
            Double($0.inFlight)
        }
        Self.connections("linkspan_connection_outbox", "Deliveries in the outbox without an outcome.", rows, to: &text)
        {
            $0.outboxCount.map { Double($0) }
        }
        Self.connections(
            "linkspan_connection_oldest_seconds", "The age of the oldest command without an outcome.", rows, to: &text
        ) { row in row.oldest.map { $0.duration(to: batch.now) / .seconds(1) } ?? 0 }
        Self.connections("linkspan_connection_holders", "Holders of the connection.", rows, to: &text) { row in
            Double(row.holders)
        }
        Self.services(batch.services, to: &text)
        Self.family("linkspan_memory_bytes", "gauge", "Resident memory of the process.", to: &text)
        text += "linkspan_memory_bytes \(batch.memory)\n"
        return Array(text.utf8)
    }

    private static func services(_ rows: [ServiceRow], to text: inout String) {
        let gauges: [(String, String, String, (ServiceRow) -> Int)] = [
            ("linkspan_service_ready", "gauge", "Whether the service is ready.", { $0.stateName == "ready" ? 1 : 0 }),
            ("linkspan_service_waiting_events", "gauge", "Events in the mailbox.", { $0.service.mailbox.waiting }),
            ("linkspan_service_lost_events_total", "counter", "Events that were lost.", { $0.service.mailbox.lost }),
            ("linkspan_service_faults_total", "counter", "Faults of the service.", { $0.faults }),
            ("linkspan_service_slow_calls_total", "counter", "Calls beyond the service's budget.", { $0.slow }),
        ]
        for (name, type, help, value) in gauges {
            Self.family(name, type, help, to: &text)
            for row in rows { text += "\(name){service=\"\(Self.label(row.service.path))\"} \(value(row))\n" }
        }
    }

    private static func connections(
        _ name: String, _ help: String, _ rows: [ConnectionRow], to text: inout String,
        _ value: (ConnectionRow) -> Double?
    ) {
        Self.family(name, "gauge", help, to: &text)
        for row in rows {
            guard let value = value(row) else { continue }
            let labels =
                "id=\"\(row.id)\",endpoint=\"\(Self.label(row.endpoint))\",transport=\"\(Self.label(row.transport))\""
            text += "\(name){\(labels)} \(value)\n"
        }
    }

    private static func family(_ name: String, _ type: String, _ help: String, to text: inout String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    /// The value of a label, escaped.
    static func label(_ value: String) -> String {
        var escaped = ""
        for character in value {
            switch character {
            case "\\": escaped += #"\\"#
            case "\"": escaped += #"\""#
            case "\n", "\r\n", "\r": escaped += #"\n"#
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
