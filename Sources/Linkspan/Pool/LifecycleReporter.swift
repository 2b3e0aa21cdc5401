internal import LinkspanLifecycle
internal import LinkspanRuntime

/// Tells the service registry what connections do.
final class LifecycleReporter: ConnectionObserver {
    private let services: ServiceRegistry
    private let scheduler: any Scheduler
    private let messages: MessageReporter
    private let attempts = Lock<[UInt64: (began: ContinuousClock.Instant, number: Int)]>([:])

    init(services: ServiceRegistry, scheduler: any Scheduler) {
        self.services = services
        self.scheduler = scheduler
        self.messages = MessageReporter(services: services, scheduler: scheduler)
    }

    func attempting(_ connection: PooledConnection, _ attempt: Int) {
        // A first attempt is the first that anybody hears of the connection.
        if attempt == 1, connection.state == .created { self.emit(connection, .created) }
        let now = self.scheduler.now
        self.attempts.withLock { $0[connection.id] = (now, attempt) }
        self.emit(connection, .connecting(attempt: attempt))
    }

    func changed(_ connection: PooledConnection, _ change: StateChange) {
        self.messages.changed(connection, change)
        switch change.to {
        case .created:
            ()
        case .connected:
            let attempt = self.attempts.withLock { $0.removeValue(forKey: connection.id) }
            var isContinuous = false
            if case .established(let info) = change.reason { isContinuous = info.isContinuous }
            self.emit(
                connection,
                .connected(
                    attempt: attempt?.number ?? change.attempt,
                    handshake: attempt.map { $0.began.duration(to: change.time) } ?? .zero,
                    resumed: isContinuous, transport: connection.transportName))
        case .disconnected:
            var willRetry = false
            if case .lost = change.reason { willRetry = true }
            self.emit(
                connection,
                .disconnected(
                    reason: change.reason.error?.message ?? "requested", code: change.reason.error?.code.rawValue,
                    willRetry: willRetry))
        case .reconnecting:
            let delay = change.nextAttempt.map { change.time.duration(to: $0) } ?? .zero
            self.emit(connection, .reconnecting(attempt: change.attempt + 1, delay: delay))
        case .released:
            self.attempts.withLock { $0[connection.id] = nil }
            self.emit(connection, .released)
        }
    }

    func queued(_ connection: PooledConnection) { self.messages.queued(connection) }

    func leaving(_ command: Command) { self.messages.leaving(command) }

    func sent(_ connection: PooledConnection, _ command: Command) { self.messages.sent(connection, command) }

    func received(_ connection: PooledConnection, _ message: InboundMessage) {
        self.messages.received(connection, message)
    }

    func finished(_ connection: PooledConnection, _ command: Command, _ outcome: Result<Payload, LinkspanError>) {
        self.messages.finished(connection, command, outcome)
    }

    private func emit(_ connection: PooledConnection, _ kind: ConnectionEvent.Kind) {
        self.services.emit(
            ConnectionEvent(connection: connection.id, endpoint: connection.url.redacted, kind: kind))
    }
}
