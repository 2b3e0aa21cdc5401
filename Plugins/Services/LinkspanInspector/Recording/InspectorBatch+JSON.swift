internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging

extension InspectorBatch {
    /// Writes the members of the batch; times are milliseconds since the start of the recording.
    func write(to json: inout JSONText, excerpts: Bool) {
        json.number("now", self.milliseconds(self.now))
        json.object("totals") { json in
            self.totals.write(to: &json)
            json.number("sampled", self.sampled)
            json.number("hidden", self.hidden)
            json.number("memory", self.memory)
        }
        json.array("connections", self.connections) { json, row in json.object { self.write(row, to: &$0) } }
        json.array("gone", self.gone) { json, id in json.element(id) }
        json.array("services", self.services) { json, row in json.object { row.write(to: &$0) } }
        json.array("goneServices", self.goneServices) { json, path in json.element(path) }
        json.array("events", self.events) { json, event in
            json.object { json in
                json.number("n", event.number)
                json.number("t", self.milliseconds(event.time))
                json.number("connection", event.connection)
                json.text("kind", event.kind)
                json.text("text", event.text)
            }
        }
        json.array("frames", self.frames) { json, frame in
            json.object { self.write(frame, to: &$0, excerpts: excerpts) }
        }
        json.array("points", self.points) { json, point in json.object { self.write(point, to: &$0) } }
        guard let settings = self.settings else { return }
        json.array("settings", settings) { json, setting in
            json.object { json in
                json.text("path", setting.path)
                json.text("value", setting.value)
                json.text("origin", setting.origin)
            }
        }
        json.array("transports", self.transports) { json, name in json.element(name) }
    }

    private func milliseconds(_ time: ContinuousClock.Instant) -> Int64 {
        Self.milliseconds(self.epoch.duration(to: time))
    }

    private func age(_ time: ContinuousClock.Instant?) -> Int64? {
        time.map { Self.milliseconds($0.duration(to: self.now)) }
    }

    /// The milliseconds of a duration, which a server or an app may have chosen: as many as a page counts exactly.
    private static func milliseconds(_ duration: Duration) -> Int64 {
        let limit = Double(1 << 53 as Int64)
        return Int64(min(max(-limit, duration / .milliseconds(1)), limit))
    }

    private func write(_ row: ConnectionRow, to json: inout JSONText) {
        json.number("id", row.id)
        json.number("holders", row.holders)
        if let snapshot = row.snapshot { self.write(snapshot, to: &json) }
        json.text("transport", row.report.transport)
        json.flag("paused", row.report.isReadingPaused)
        json.number("inFlight", row.report.inFlight)
        json.number("oldest", self.age(row.report.oldest))
        if let reply = row.report.reply { json.decimal("reply", reply / .milliseconds(1)) }
        json.decimal("turn", row.report.turn / .milliseconds(1))
        row.counts.write(to: &json)
        json.object("credentials") { json in
            json.number("age", self.age(row.credentials.obtained))
            json.number("expiry", row.credentials.expiry.map { self.milliseconds($0) })
            json.number("renewal", row.credentials.nextRenewal.map { self.milliseconds($0) })
            json.text("failure", row.credentials.failure)
            if row.credentials.isRevoked { json.flag("revoked", true) }
        }
    }

    private func write(_ snapshot: ConnectionRow.Snapshot, to json: inout JSONText) {
        json.text("endpoint", snapshot.endpoint)
        json.text("carrier", snapshot.carrier)
        json.text("state", snapshot.state)
        json.text("progress", snapshot.progress)
        json.number("attempt", snapshot.attempt)
        json.number("nextAttempt", snapshot.nextAttempt.map { self.milliseconds($0) })
        json.text("why", snapshot.explanation)
        json.text("error", snapshot.lastError)
        json.number("waiting", snapshot.waiting)
        json.text("outbox", snapshot.outbox)
        json.number("outboxCount", snapshot.outboxCount)
        json.decimal("roundTrip", snapshot.roundTrip.map { $0 / .milliseconds(1) })
    }

    private func write(_ frame: InspectorRecorder.Frame, to json: inout JSONText, excerpts: Bool) {
        json.number("n", frame.number)
        json.number("connection", frame.connection)
        json.number("t", self.milliseconds(frame.frame.time))
        json.text("event", frame.frame.event)
        json.number("bytes", frame.frame.bytes)
        switch frame.frame.kind {
        case .sent: json.text("kind", "sent")
        case .received: json.text("kind", "received")
        case .answered(let time):
            json.text("kind", "answered")
            json.decimal("roundTrip", time / .milliseconds(1))
        case .failed(let code):
            json.text("kind", "failed")
            json.text("code", ForeignText.line(code.rawValue, limit: 64))
        }
        if excerpts, !frame.frame.excerpt.isEmpty {
            json.text("payload", Redaction.excerpt(frame.frame.excerpt, of: frame.frame.bytes))
        }
    }

    private func write(_ point: InspectorRecorder.Point, to json: inout JSONText) {
        json.number("t", self.milliseconds(point.time))
        json.number("connections", point.connections)
        json.number("connected", point.connected)
        json.decimal("roundTrip", point.roundTrip.map { $0 / .milliseconds(1) })
        json.decimal("reply", point.reply.map { $0 / .milliseconds(1) })
        json.number("sent", point.sent)
        json.number("received", point.received)
        json.number("bytes", point.bytes)
        json.number("waiting", point.waiting)
        json.number("inFlight", point.inFlight)
        json.number("outbox", point.outbox)
        json.decimal("oldest", point.oldest / .milliseconds(1))
        json.decimal("turn", point.turn / .milliseconds(1))
        json.number("memory", point.memory)
    }
}

extension ConnectionMeter.Counts {
    func write(to json: inout JSONText) {
        json.number("sent", self.sent)
        json.number("sentBytes", self.sentBytes)
        json.number("received", self.received)
        json.number("receivedBytes", self.receivedBytes)
        json.number("answered", self.answered)
        json.number("failed", self.failed)
    }
}

extension ServiceRow {
    /// The name of the state, without the text of a service's error.
    var stateName: String {
        switch self.service.state {
        case .registered: "registered"
        case .starting: "starting"
        case .ready: "ready"
        case .quiescing: "quiescing"
        case .stopping: "stopping"
        case .stopped: "stopped"
        case .failed: "failed"
        case .skipped: "skipped"
        case .abandoned: "abandoned"
        }
    }

    fileprivate var phaseName: String {
        guard let phase = self.service.phase else { return "feature" }
        let names: [Int: String] = [
            Placement.Phase.core.rawValue: "core", Placement.Phase.storage.rawValue: "storage",
            Placement.Phase.authentication.rawValue: "authentication",
            Placement.Phase.transport.rawValue: "transport", Placement.Phase.feature.rawValue: "feature",
            Placement.Phase.observer.rawValue: "observer",
        ]
        return names[phase] ?? "\(phase)"
    }

    func write(to json: inout JSONText) {
        json.text("path", self.service.path)
        json.text("phase", self.phaseName)
        json.number("priority", self.service.priority)
        json.text("state", self.stateName)
        json.text("origin", self.service.origin)
        json.number("waiting", self.service.mailbox.waiting)
        json.number("capacity", self.service.mailbox.capacity)
        json.number("delivered", self.service.mailbox.delivered)
        json.number("lost", self.service.mailbox.lost)
        json.number("faults", self.faults)
        json.number("slow", self.slow)
    }
}
