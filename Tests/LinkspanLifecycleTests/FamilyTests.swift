internal import LinkspanRuntime
internal import Testing

@testable internal import LinkspanLifecycle

@Suite("Event families", .timeLimit(.minutes(1)))
struct FamilyTests {
    /// Follows every family, and one that it knows.
    private final class Follower: AnyEventObserving, QueueObserving {
        let name: ServiceName = "follower"
        let journal = Journal()

        func on(_ event: Stamped<any LifecycleEvent>, _ scope: ServiceScope) async throws {
            self.journal.add("any \(type(of: event.event).familyName)")
        }

        func on(_ event: Stamped<QueueEvent>, _ scope: ServiceScope) async throws {
            self.journal.add("queue \(event.event.connection)\(event.replayed ? " replayed" : "")")
        }
    }

    private struct SecondQueueEvent: LifecycleEvent {
        static var family: EventFamily<Self, any QueueObserving> { .news("queue") { _, _, _ in } }
    }

    @Test
    func `a family that is first emitted after a service was registered reaches it`() async throws {
        let registry = ServiceRegistry()
        let follower = Follower()
        try registry.register(follower).keep()
        try await registry.start()
        await registry.barrier(AppEvent.didBecomeActive)
        await registry.barrier(QueueEvent(connection: 1, isFull: true))
        #expect(follower.journal.all.suffix(2) == ["any app", "queue 1"])
        await registry.stop()
    }

    @Test
    func `the end of a subject takes all its states along, whatever their family`() async throws {
        let registry = ServiceRegistry()
        try await registry.start()
        for id in [1, 2] as [UInt64] {
            registry.emit(connection(id, .created))
            registry.emit(QueueEvent(connection: id, isFull: true))
        }
        registry.emit(connection(1, .released))
        let follower = Follower()
        let registration = try registry.register(follower)
        _ = await registration.settled()
        await registry.barrier(AppEvent.didBecomeActive)
        #expect(follower.journal.all(with: "queue ") == ["2 replayed"])
        await registry.stop()
    }

    @Test
    func `two types are two families, even with one name`() {
        #expect(QueueEvent.familyID != SecondQueueEvent.familyID)
        #expect(QueueEvent.familyID == QueueEvent(connection: 1, isFull: true).familyID)
        #expect("\(SecondQueueEvent.familyID)" == "queue")
    }

    @Test
    func `news has an audience while a service observes, states always`() {
        let registry = ServiceRegistry()
        let journal = Journal()
        #expect(!registry.hasAudience(for: FaultEvent.self))
        #expect(!registry.hasAudience(for: MessageEvent.self))
        #expect(registry.hasAudience(for: QueueEvent.self))
        let faults = registry.observe(weak: journal, FaultEvent.self) { _, _ in }
        let messages = registry.observe(weak: journal, MessageEvent.self) { _, _ in }
        #expect(registry.hasAudience(for: FaultEvent.self))
        #expect(registry.hasAudience(for: MessageEvent.self))
        faults.cancel()
        messages.cancel()
        #expect(!registry.hasAudience(for: FaultEvent.self))
        #expect(!registry.hasAudience(for: MessageEvent.self))
    }
}

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
