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
