internal import LinkspanLifecycle

/// A family with states, declared outside of the registry's module.
struct ConnectionEvent: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case created
        case connecting(attempt: Int)
        case connected(attempt: Int, handshake: Duration, resumed: Bool, transport: String)
        case disconnected(reason: String, code: String?, willRetry: Bool)
        case released
    }

    var connection: UInt64
    var endpoint: String
    var kind: Kind
}

extension ConnectionEvent: LifecycleEvent {
    static var family: EventFamily<Self, any ConnectionObserving> {
        .states("connection", retention: { $0.retention }) { try await $0.on($1, $2) }
    }

    var retention: Retention {
        switch self.kind {
        case .created, .connecting, .connected, .disconnected:
            .keep(subject: "connection \(self.connection)")
        case .released: .forgetAll(subject: "connection \(self.connection)")
        }
    }
}

protocol ConnectionObserving: LifecycleService {
    func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws
}

/// Another state of the same subjects, in a family of its own.
struct QueueEvent: Sendable, Hashable {
    var connection: UInt64
    var isFull: Bool
}

extension QueueEvent: LifecycleEvent {
    static var family: EventFamily<Self, any QueueObserving> {
        .states("queue", retention: { $0.retention }) { try await $0.on($1, $2) }
    }

    var retention: Retention {
        let subject = "connection \(self.connection)"
        return self.isFull ? .keep(subject: subject, aspect: "queue") : .forget(subject: subject, aspect: "queue")
    }
}

protocol QueueObserving: LifecycleService {
    func on(_ event: Stamped<QueueEvent>, _ scope: ServiceScope) async throws
}

/// A family without states.
struct MessageEvent: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case sent
        case received
    }

    var connection: UInt64
    var event: String
    var bytes: Int
    var kind: Kind
}

extension MessageEvent: LifecycleEvent {
    static var family: EventFamily<Self, any MessageObserving> {
        .news("message") { try await $0.on($1, $2) }
    }
}

protocol MessageObserving: LifecycleService {
    func on(_ event: Stamped<MessageEvent>, _ scope: ServiceScope) async throws
}

/// A family of running totals.
struct CountEvent: Sendable, Hashable {
    var connection: UInt64 = 1
    var name: String
    var total: Int
}

extension CountEvent: LifecycleEvent {
    static var family: EventFamily<Self, any CountObserving> {
        .totals("count", retention: { .keep(subject: "connection \($0.connection)", aspect: $0.name) }) {
            try await $0.on($1, $2)
        }
    }
}

protocol CountObserving: LifecycleService {
    func on(_ event: Stamped<CountEvent>, _ scope: ServiceScope) async throws
}
