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
    static var familyName: String { "connection" }
    static var delivery: EventDelivery { .states }

    var retention: Retention {
        switch self.kind {
        case .created, .connecting, .connected, .disconnected:
            .keep(subject: "connection \(self.connection)")
        case .released: .forgetAll(subject: "connection \(self.connection)")
        }
    }

    static func deliver(
        _ event: Stamped<Self>, to observer: any ConnectionObserving, _ scope: ServiceScope
    ) async throws {
        try await observer.on(event, scope)
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
    static var familyName: String { "queue" }
    static var delivery: EventDelivery { .states }

    var retention: Retention {
        let subject = "connection \(self.connection)"
        return self.isFull ? .keep(subject: subject, aspect: "queue") : .forget(subject: subject, aspect: "queue")
    }

    static func deliver(
        _ event: Stamped<Self>, to observer: any QueueObserving, _ scope: ServiceScope
    ) async throws {
        try await observer.on(event, scope)
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
    static var familyName: String { "message" }
    static var delivery: EventDelivery { .batches }

    static func deliver(
        _ event: Stamped<Self>, to observer: any MessageObserving, _ scope: ServiceScope
    ) async throws {
        try await observer.on(event, scope)
    }
}

protocol MessageObserving: LifecycleService {
    func on(_ event: Stamped<MessageEvent>, _ scope: ServiceScope) async throws
}
