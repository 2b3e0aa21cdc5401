internal import LinkspanLifecycle
internal import LinkspanRuntime

/// Tells the service registry of connections.
final class LifecycleReporter: ConnectionObserver {
    private let services: ServiceRegistry
    private let scheduler: any Scheduler

    init(services: ServiceRegistry, scheduler: any Scheduler) {
        self.services = services
        self.scheduler = scheduler
    }

    func observe(_ connection: ObservedConnection) -> any ConnectionProbe {
        LifecycleProbe(connection, services: self.services, scheduler: self.scheduler)
    }
}

/// Tells the service registry of one connection, on the connection's executor.
final class LifecycleProbe: ConnectionProbe {
    private var connection: ObservedConnection
    private let services: ServiceRegistry
    private let scheduler: any Scheduler
    private var messages: MessageReporter
    private var attempt: (began: ContinuousClock.Instant, number: Int)?
    private var isKnown = false

    init(_ connection: ObservedConnection, services: ServiceRegistry, scheduler: any Scheduler) {
        self.connection = connection
        self.services = services
        self.scheduler = scheduler
        self.messages = MessageReporter(connection: connection.id, services: services, scheduler: scheduler)
    }

    func moved(to connection: ObservedConnection) { self.connection = connection }

    func attempting(_ attempt: Int) {
        if !self.isKnown { self.emit(.created) }
        self.isKnown = true
        self.attempt = (self.scheduler.now, attempt)
        self.emit(.connecting(attempt: attempt))
    }

    func changed(_ change: StateChange) {
        self.messages.changed(change)
        switch change.to {
        case .created:
            ()
        case .connected:
            let attempt = self.attempt.take()
            var isContinuous = false
            if case .established(let info) = change.reason { isContinuous = info.isContinuous }
            self.emit(
                .connected(
                    attempt: attempt?.number ?? change.attempt,
                    handshake: attempt.map { $0.began.duration(to: change.time) } ?? .zero,
                    resumed: isContinuous, transport: self.connection.transport))
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
            self.emit(.released)
        }
    }

    func queueChanged(depth: Int, limit: Int) { self.messages.queueChanged(depth: depth, limit: limit) }

    func leaving(_ command: Command) { self.messages.leaving(command) }

    func sent(_ command: Command) { self.messages.sent(command) }

    func received(_ event: String, bytes: Int) { self.messages.received(event, bytes: bytes) }

    func finished(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
        self.messages.finished(command, outcome)
    }

    func credentials(_ event: CredentialEvent) {}

    private func emit(_ kind: ConnectionEvent.Kind) {
        self.services.emit(
            ConnectionEvent(connection: self.connection.id, endpoint: self.connection.endpoint, kind: kind))
    }
}
