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

/// A family that is handed over in batches.
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
        .batches("message") { try await $0.on($1, $2) }
    }
}

protocol MessageObserving: LifecycleService {
    func on(_ event: Stamped<MessageEvent>, _ scope: ServiceScope) async throws
}

/// A family that is added up for services that do not keep up.
struct CountedEvent: SummableEvent {
    static var family: EventFamily<Self, any CountedObserving> {
        .sums("counted") { try await $0.on($1, $2) }
    }

    var name: String
    var count = 1

    func sumKey(isCoarse: Bool) -> String { isCoarse ? "" : self.name }

    mutating func add(_ other: Self) {
        if self.name != other.name { self.name = "" }
        self.count += other.count
    }

    var summed: Self { self }
}

protocol CountedObserving: LifecycleService {
    func on(_ event: Stamped<CountedEvent>, _ scope: ServiceScope) async throws
}
