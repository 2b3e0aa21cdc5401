#if ServiceLifecycle
internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanServiceLifecycle
internal import LinkspanTesting
internal import Logging
internal import ServiceLifecycle
internal import ServiceLifecycleTestKit
internal import Testing

/// Writes down what a group does with it.
private struct Witness: LifecycleService {
    let name: ServiceName
    let recorder: EventRecorder
    var importance = Importance.required
    var budgets = Budgets()
    var onStart: @Sendable () async throws -> Void = {}
    var onStop: @Sendable () async throws -> Void = {}

    func start(_ scope: ServiceScope) async throws {
        self.recorder.note("\(self.name) starts")
        try await self.onStart()
    }

    func quiesce(_ scope: ServiceScope) async throws { self.recorder.note("\(self.name) flushes") }

    func stop(_ scope: ServiceScope) async throws {
        self.recorder.note("\(self.name) stops")
        try await self.onStop()
    }
}

private struct Failure: Error {}

@Suite("Services of a service group")
struct RegistryServiceTests {
    private let recorder = EventRecorder()

    private func registry(_ witnesses: [Witness]) throws -> ServiceRegistry {
        let registry = ServiceRegistry(options: RegistryOptions { $0.grace = .milliseconds(100) })
        for witness in witnesses { try registry.register(witness).keep() }
        return registry
    }

    private func service(_ witnesses: [Witness], budget: Duration? = nil) throws -> RegistryService {
        let recorder = self.recorder
        return RegistryService(
            try self.registry(witnesses), budget: budget,
            onReady: { recorder.note("ready \($0.degraded.isEmpty)") },
            onStop: { recorder.note("stopped \($0.isClean)") })
    }

    private func wait(for note: String) async throws {
        try await self.recorder.wait(for: note) { entries in entries.contains { $0.summary == "note: \(note)" } }
    }

    private let whole = ["a starts", "ready true", "a flushes", "a stops", "stopped true"]

    @Test(.timeLimit(.minutes(1)))
    func `a graceful shutdown of the group stops the registry`() async throws {
        let service = try self.service([Witness(name: "a", recorder: self.recorder)])
        let group = ServiceGroup(services: [service], logger: Logger(label: "test"))
        async let run: Void = group.run()
        try await self.wait(for: "ready true")
        await group.triggerGracefulShutdown()
        try await run
        #expect(self.recorder.notes == self.whole)
    }

    @Test(.timeLimit(.minutes(1)))
    func `alone, the trigger of the test kit does the same`() async throws {
        let service = try self.service([Witness(name: "a", recorder: self.recorder)])
        try await testGracefulShutdown { trigger in
            async let run: Void = service.run()
            try await self.wait(for: "ready true")
            trigger.triggerGracefulShutdown()
            try await run
        }
        #expect(self.recorder.notes == self.whole)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a cancellation takes the same way`() async throws {
        let service = try self.service([Witness(name: "a", recorder: self.recorder)])
        let task = Task { try await service.run() }
        try await self.wait(for: "ready true")
        task.cancel()
        try await task.value
        #expect(self.recorder.notes == self.whole)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a shutdown during the start gives it up and stops what had started`() async throws {
        let service = try self.service([
            Witness(name: "a", recorder: self.recorder) { try await Task.sleep(for: .seconds(600)) }
        ])
        try await testGracefulShutdown { trigger in
            async let run: Void = service.run()
            try await self.wait(for: "a starts")
            trigger.triggerGracefulShutdown()
            try await run
        }
        #expect(self.recorder.notes == ["a starts", "a stops"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `a start that fails is the group's error`() async throws {
        let service = try self.service([Witness(name: "a", recorder: self.recorder) { throw Failure() }])
        let group = ServiceGroup(services: [service], logger: Logger(label: "test"))
        let error = await #expect(throws: RegistryError.self) { try await group.run() }
        #expect(error?.code == .startFailed)
        #expect(self.recorder.notes == ["a starts", "a stops"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `a hook that throws stops the registry, and its error is the group's`() async throws {
        let registry = try self.registry([Witness(name: "a", recorder: self.recorder)])
        let service = RegistryService(registry, onReady: { _ in throw Failure() })
        await #expect(throws: Failure.self) { try await service.run() }
        #expect(self.recorder.notes == ["a starts", "a flushes", "a stops"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `a service that does not stop delays the stop no longer than the budget`() async throws {
        // Deaf to its cancellation, until everybody else has gone on.
        let end = Promise<Void>()
        let service = try self.service(
            [Witness(name: "a", recorder: self.recorder, onStop: { await end.value })], budget: .milliseconds(200))
        try await testGracefulShutdown { trigger in
            async let run: Void = service.run()
            try await self.wait(for: "ready true")
            trigger.triggerGracefulShutdown()
            try await run
        }
        #expect(self.recorder.notes.last == "stopped false")
        end.fulfill()
    }

    @Test(.timeLimit(.minutes(1)))
    func `services of a group stop in the reverse order`() async throws {
        let first = try self.service([Witness(name: "a", recorder: self.recorder)])
        let second = try self.service([Witness(name: "b", recorder: self.recorder)])
        let group = ServiceGroup(services: [first, second], logger: Logger(label: "test"))
        async let run: Void = group.run()
        try await self.recorder.wait(for: "both") { entries in
            entries.count { $0.summary == "note: ready true" } == 2
        }
        await group.triggerGracefulShutdown()
        try await run
        let stops = self.recorder.notes.filter { $0.hasSuffix("stops") }
        #expect(stops == ["b stops", "a stops"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `a plan runs in a group, with its connection`() async throws {
        let recorder = self.recorder
        let hub = InMemoryHub(executor: TestExecutor())
        hub.onConnect { peer in
            recorder.note("peer")
            peer.onEnd { recorder.note("peer ends") }
        }
        let plan = MessagingPlan(
            url: "memory://a", transport: .inMemory(hub),
            services: [Witness(name: "a", recorder: recorder)])
        let service = MessagingService(
            plan,
            onReady: { _, connection in
                for await change in connection.stateChanges where change.to == .connected { break }
                recorder.note("connected")
            }, onStop: { recorder.note("stopped \($0.isClean)") })
        let group = ServiceGroup(services: [service], logger: Logger(label: "test"))
        async let run: Void = group.run()
        try await self.wait(for: "connected")
        await group.triggerGracefulShutdown()
        try await run
        try await self.wait(for: "peer ends")
        #expect(recorder.notes.first == "a starts")
        #expect(recorder.notes.contains("a stops"))
        #expect(recorder.notes.contains("stopped true"))
    }

    @Test(.timeLimit(.minutes(1)))
    func `a plan's registry runs with the options of the service`() async throws {
        var hanging = Witness(name: "a", recorder: self.recorder) { try await Task.sleep(for: .seconds(3_600)) }
        // The service alone would be waited for in vain.
        hanging.budgets.start = .seconds(3_600)
        let plan = MessagingPlan(
            url: "memory://hub", transport: InMemoryTransport(hub: InMemoryHub()), services: [hanging])
        let service = MessagingService(plan, services: .init { $0.startBudget = .milliseconds(50) })
        let error = await #expect(throws: LinkspanError.self) { try await service.run() }
        #expect((error?.cause as? RegistryError)?.code == .startFailed)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a plan that cannot run is the group's error`() async throws {
        let plan = MessagingPlan(url: "nowhere", transport: .inMemory(InMemoryHub(executor: TestExecutor())))
        let error = await #expect(throws: LinkspanError.self) { try await MessagingService(plan).run() }
        #expect(error?.code == .invalidURL)
    }
}
#endif
