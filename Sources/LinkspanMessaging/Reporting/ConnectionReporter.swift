package import Linkspan
internal import LinkspanLifecycle
internal import LinkspanRuntime

/// Reports one connection to a service registry.
package final class ConnectionReporter: ConnectionProbe {
    private let scheduler: any Scheduler
    private let services: ServiceRegistry
    private let traffic: TrafficCounter
    private var connection: ObservedConnection
    private var isKnown = false
    private var attempt: (began: ContinuousClock.Instant, number: Int)?
    /// The time at which the latest copy of each command without an outcome went out.
    private var departures: [Command.ID: ContinuousClock.Instant] = [:]
    private var queue = QueueDepth()
    /// The counts and the sample.
    package var meter = ConnectionMeter()
    private var depth = 0
    /// The number of failed attempts in a row to obtain credentials.
    private var failures = 0

    init(
        _ connection: ObservedConnection, _ traffic: TrafficCounter, services: ServiceRegistry,
        scheduler: any Scheduler
    ) {
        self.connection = connection
        self.traffic = traffic
        self.services = services
        self.scheduler = scheduler
    }
}

// MARK: - States

extension ConnectionReporter {
    package func moved(to connection: ObservedConnection) { self.connection = connection }

    package func attempting(_ attempt: Int) {
        // The first attempt is the first event of the connection.
        if !self.isKnown { self.emit(.created) }
        self.isKnown = true
        self.attempt = (self.scheduler.now, attempt)
        self.emit(.connecting(attempt: attempt))
    }

    package func changed(_ change: StateChange) {
        switch change.to {
        case .created: ()
        case .connected: self.connected(change)
        case .disconnected:
            self.traffic.report()
            var willRetry = false
            if case .lost = change.reason { willRetry = true }
            self.emit(
                .disconnected(
                    reason: change.reason.error?.message ?? "requested", code: change.reason.error?.code.rawValue,
                    willRetry: willRetry))
        case .reconnecting:
            let delay = change.nextAttempt.map { change.time.duration(to: $0) } ?? .zero
            self.emit(.reconnecting(attempt: change.attempt + 1, delay: delay))
        case .released:
            self.queue = QueueDepth()
            self.traffic.report(isLast: true)
            self.emit(.released)
        }
    }

    private func connected(_ change: StateChange) {
        if self.depth > 0 { self.queue.beginFlush(self.depth, now: change.time) }
        var isContinuous = false
        if case .established(let info) = change.reason { isContinuous = info.isContinuous }
        self.emit(
            .connected(
                attempt: self.attempt?.number ?? change.attempt,
                handshake: self.attempt.map { $0.began.duration(to: change.time) } ?? .zero,
                resumed: isContinuous, transport: self.connection.transport))
        self.attempt = nil
    }

    private func emit(_ kind: ConnectionEvent.Kind) {
        self.services.emit(
            ConnectionEvent(connection: self.connection.id, endpoint: self.connection.endpoint, kind: kind))
    }

    package func measured(roundTrip: Duration) { self.emit(.measured(roundTrip: roundTrip)) }

    package func credentials(_ event: CredentialEvent) {
        switch event {
        case .obtained(_, let validFor):
            self.failures = 0
            self.emit(.credentialsObtained(validFor: validFor))
        case .renewed(let validFor, _):
            self.emit(.credentialsRefreshed(validFor: validFor, attempt: self.failures + 1))
            self.failures = 0
        case .failed(_, let error, let retryAfter):
            self.failures += 1
            self.emit(.credentialsFailed(attempt: self.failures, reason: error.code.rawValue, retryAfter: retryAfter))
        @unknown default: ()
        }
    }
}

// MARK: - Messages

extension ConnectionReporter {
    package func leaving(_ command: Command) { self.departures[command.id] = self.scheduler.now }

    package func sent(_ command: Command) {
        self.meter.sent(command) { self.scheduler.now }
        let bytes = command.byteCount
        self.traffic.count(command.event) { ($0.sent, $0.sentBytes) = ($0.sent + 1, $0.sentBytes + bytes) }
    }

    package func received(_ event: String, _ payload: borrowing Payload) {
        self.meter.received(event, payload) { self.scheduler.now }
        let bytes = payload.byteCount
        self.traffic.count(event) { ($0.received, $0.receivedBytes) = ($0.received + 1, $0.receivedBytes + bytes) }
    }

    package func finished(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
        let departure = self.departures.isEmpty ? nil : self.departures.removeValue(forKey: command.id)
        if case .deliver = command.kind, case .failure(let error) = outcome, self.connection.keeps(after: error) {
            return
        }
        let now = departure == nil ? nil : self.scheduler.now
        let roundTrip = now.flatMap { now in departure?.duration(to: now) }
        self.meter.finished(command, outcome, after: roundTrip) { now ?? self.scheduler.now }
        switch outcome {
        case .success:
            guard let roundTrip else { return }
            self.traffic.count(command.event) {
                ($0.acknowledged, $0.roundTrips) = ($0.acknowledged + 1, $0.roundTrips + roundTrip)
            }
        case .failure(let error) where error.code == .timedOut:
            let wasSent = error.certainty != .notSent
            self.traffic.count(command.event) { if wasSent { $0.timedOut += 1 } else { $0.expired += 1 } }
        case .failure: self.traffic.count(command.event) { $0.dropped += 1 }
        }
    }

    package func queueChanged(depth: Int, limit: Int) {
        self.depth = depth
        // One change may be news in several ways.
        while let kind = self.queue.changed(to: depth, limit: limit, now: self.scheduler.now) { self.emit(kind) }
    }
}
