internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@testable internal import LinkspanLifecycle

/// A service that keeps its registry.
private final class Keeping: LifecycleService {
    let name: ServiceName
    let importance: Importance = .optional
    private let registry: ServiceRegistry
    private let fails: Bool

    init(_ name: ServiceName, in registry: ServiceRegistry, fails: Bool = false) {
        self.name = name
        self.registry = registry
        self.fails = fails
    }

    func start(_ scope: ServiceScope) async throws { if self.fails { throw Trouble() } }
}

/// A reference that does not keep its object.
private struct WeakReference<Object: AnyObject> {
    weak var object: Object?
}

@Suite("The end of a registry", .timeLimit(.minutes(1)))
struct RegistryEndTests {
    /// A registry that has been stopped, by weak references to what must go with it.
    private func stopped(isStarted: Bool) async throws -> (WeakReference<RegistryCore>, WeakReference<Keeping>) {
        let registry = ServiceRegistry()
        let service = Keeping("a", in: registry)
        try registry.register(service).keep()
        try registry.register(Keeping("broken", in: registry, fails: true)).keep()
        try registry.register(
            Keeping("skipped", in: registry), settings: .init(placement: Placement(needs: [.hard("broken")]))
        ).keep()
        if isStarted { try await registry.start() }
        await registry.stop()
        #expect(registry.services(of: (any LifecycleService).self).isEmpty)
        #expect(registry.state(of: "services.a") == (isStarted ? .stopped : .registered))
        return (WeakReference(object: registry.core), WeakReference(object: service))
    }

    @Test(arguments: [true, false])
    func `services that keep their registry go with it once it has stopped`(isStarted: Bool) async throws {
        let (core, service) = try await self.stopped(isStarted: isStarted)
        try await eventually { core.object == nil }
        #expect(service.object == nil)
    }

    @Test
    func `the threads end with the stop, and later calls still get one`() async throws {
        let registry = ServiceRegistry()
        try registry.register(Probe("a")).keep()
        try await registry.start()
        #expect(registry.core.threads.count > 0)
        await registry.stop()
        try await eventually { registry.core.threads.count == 0 }
        let listener = Listener("listener")
        let observation = registry.observe(weak: listener, MessageEvent.self) { $0.journal.add($1.event.event) }
        registry.emit(message("late"))
        try await eventually { listener.journal.all == ["late"] }
        withExtendedLifetime(observation) {}
    }

    /// The threads of a registry that nobody has stopped.
    private func abandoned() async throws -> ServiceThreads {
        let registry = ServiceRegistry()
        try registry.register(Probe("a")).keep()
        try await registry.start()
        return registry.core.threads
    }

    @Test
    func `the threads end with a registry that nobody has stopped`() async throws {
        let threads = try await self.abandoned()
        try await eventually { threads.count == 0 }
    }

    @Test
    func `a registry that keeps a registration lets go of it when that is cancelled`() throws {
        let registry = ServiceRegistry()
        let cancelled = try {
            let registration = try registry.register(Probe("a"))
            registration.keep()
            registration.cancel()
            return WeakReference(object: registration)
        }()
        #expect(cancelled.object == nil)
    }

    @Test
    func `who waits for a service to settle hears of the stop of a registry that was not started`() async throws {
        let registry = ServiceRegistry()
        let journal = Journal()
        let registration = try registry.register(Probe("a"))
        let id = try #require(registry.core.machine { $0.members.keys.first })
        #expect(registry.core.machine { $0.whenSettled(id) { journal.add("settled") } })
        await registry.stop()
        #expect(journal.all == ["settled"])
        #expect(await registration.settled() == .registered, "nobody waits after the stop")
        let none = InspectedMailbox(waiting: 0, capacity: 0, delivered: 0, lost: 0)
        #expect(registry.inspected.map(\.mailbox) == [none])
        registration.cancel()
        #expect(journal.all == ["settled"])
    }
}
