internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanRuntime

/// Reports one connection to a service registry.
final class ConnectionReporter: ConnectionMetering {
    private let scheduler: any Scheduler
    private let connections: EventEmitter<ConnectionEvent>
    private let messages: EventEmitter<MessageEvent>
    private let queues: EventEmitter<BufferEvent>
    private let authentication: EventEmitter<AuthenticationEvent>
    private var connection: ObservedConnection
    private var isKnown = false
    private var attempt: (began: ContinuousClock.Instant, number: Int)?
    /// The time at which the latest copy of each command without an outcome went out.
    private var departures: [Command.ID: ContinuousClock.Instant] = [:]
    private var queue = QueueDepth()
    var meter = ConnectionMeter()
    private var depth = 0
    /// The number of failed attempts in a row to obtain credentials.
    private var failures = 0

    init(_ connection: ObservedConnection, services: ServiceRegistry, scheduler: any Scheduler) {
        self.connection = connection
        self.scheduler = scheduler
        self.connections = services.emitter(for: ConnectionEvent.self)
        self.messages = services.emitter(for: MessageEvent.self)
        self.queues = services.emitter(for: BufferEvent.self)
        self.authentication = services.emitter(for: AuthenticationEvent.self)
    }
}

// MARK: - States

extension ConnectionReporter {
    func moved(to connection: ObservedConnection) { self.connection = connection }

    func attempting(_ attempt: Int) {
        // The first attempt is the first event of the connection.
        if !self.isKnown { self.emit(.created) }
        self.isKnown = true
        self.attempt = (self.scheduler.now, attempt)
        self.emit(.connecting(attempt: attempt))
    }

    func changed(_ change: StateChange) {
        switch change.to {
        case .created: ()
        case .connected: self.connected(change)
        case .disconnected:
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
        self.connections.emit(
            ConnectionEvent(connection: self.connection.id, endpoint: self.connection.endpoint, kind: kind))
    }

    func measured(roundTrip: Duration) { self.emit(.measured(roundTrip: roundTrip)) }

    func credentials(_ event: CredentialEvent) {
        switch event {
        case .obtained(_, let validFor):
            self.failures = 0
            self.emit(.obtained(validFor: validFor))
        case .renewed(let validFor, _):
            self.emit(.refreshed(validFor: validFor, attempt: self.failures + 1))
            self.failures = 0
        case .failed(_, let error, let retryAfter):
            self.failures += 1
            self.emit(.refreshFailed(attempt: self.failures, reason: error.code.rawValue, retryAfter: retryAfter))
        @unknown default: ()
        }
    }

    private func emit(_ kind: AuthenticationEvent.Kind) {
        self.authentication.emit(AuthenticationEvent(connection: self.connection.id, kind: kind))
    }
}

// MARK: - Messages

extension ConnectionReporter {
    func leaving(_ command: Command) {
        guard command.kind != .send, self.messages.hasAudience else { return }
        self.departures[command.id] = self.scheduler.now
    }

    func sent(_ command: Command) {
        self.meter.sent(command) { self.scheduler.now }
        self.emit(command, .sent)
    }

    func received(_ event: String, _ payload: borrowing Payload) {
        self.meter.received(event, payload) { self.scheduler.now }
        self.messages.emit(
            MessageEvent(
                connection: self.connection.id, event: event, bytes: payload.byteCount, kind: .received))
    }

    func finished(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
        self.meter.finished(command, outcome) { self.scheduler.now }
        let departure = self.departures.isEmpty ? nil : self.departures.removeValue(forKey: command.id)
        guard self.messages.hasAudience else { return }
        switch outcome {
        case .success:
            guard command.kind != .send, let departure else { return }
            self.emit(command, .acknowledged(roundTrip: departure.duration(to: self.scheduler.now)))
        case .failure(let error) where error.code == .timedOut:
            let wasSent = error.certainty != .notSent
            self.emit(command, wasSent ? .timedOut(limit: command.timeout ?? .zero) : .expired)
        case .failure(let error):
            self.emit(command, .dropped(reason: error.code.rawValue))
        }
    }

    private func emit(_ command: Command, _ kind: MessageEvent.Kind) {
        self.messages.emit(
            MessageEvent(connection: self.connection.id, event: command.event, bytes: command.byteCount, kind: kind))
    }

    func queueChanged(depth: Int, limit: Int) {
        self.depth = depth
        // One change may be news in several ways.
        while let kind = self.queue.changed(to: depth, limit: limit, now: self.scheduler.now) {
            self.queues.emit(BufferEvent(connection: self.connection.id, depth: depth, limit: limit, kind: kind))
        }
    }
}
