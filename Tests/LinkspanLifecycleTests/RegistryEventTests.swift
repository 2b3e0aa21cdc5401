internal import LinkspanLifecycle
internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@Suite("Events and times of a registry", .timeLimit(.minutes(1)))
struct RegistryEventTests {
    /// Records the events of a registry.
    private final class Follower: Sendable {
        private let events = Lock<[RegistryEvent]>([])
        var all: [RegistryEvent] { self.events.withLock { $0 } }

        func add(_ event: RegistryEvent) { self.events.withLock { $0.append(event) } }
    }

    private let clock = ManualScheduler()

    private func registry() -> ServiceRegistry {
        let clock = self.clock
        return ServiceRegistry(
            options: .init {
                $0.scheduler = clock
                $0.retryDelay = nil
            })
    }

    @Test
    func `an event looks at those who take it, however many services there are`() async throws {
        for size in [1, 100] {
            let registry = ServiceRegistry()
            let listener = Listener("listener")
            try registry.register(listener).keep()
            for number in 0..<size { try registry.register(Probe("\(number)")).keep() }
            try await registry.start()
            // Who takes it is looked for once.
            registry.emit(connection(1, .created))
            #expect([0, 50].contains(countSteps { for _ in 0..<50 { registry.emit(connection(1, .created)) } }))
            await registry.stop()
        }
    }

    @Test
    func `a registry emits each step of its start and its stop, in order`() async throws {
        let (registry, follower, clock) = (self.registry(), Follower(), self.clock)
        let observer = registry.observe(weak: follower, RegistryEvent.self) { $0.add($1.event) }
        try registry.register(Probe("a") { $0.onStart = { _ in clock.advance(by: .milliseconds(20)) } }).keep()
        try registry.register(
            Probe("b") {
                $0.placement.needs = [.soft("a")]
                $0.onStart = { _ in throw Trouble() }
            }
        ).keep()
        try registry.register(Probe("c") { $0.placement.needs = [.hard("b")] }).keep()
        try await registry.start()
        await registry.stop(within: .seconds(8))
        let changes: [RegistryEvent] = [
            .willStart,
            .serviceChanged(path: "services.a", from: .registered, to: .starting),
            .serviceChanged(path: "services.a", from: .starting, to: .ready),
            .serviceChanged(path: "services.b", from: .registered, to: .starting),
            .serviceChanged(path: "services.b", from: .starting, to: .failed("trouble")),
            .serviceChanged(path: "services.c", from: .registered, to: .skipped(because: "services.b")),
            .started(after: .milliseconds(20)),
            .degraded(paths: ["services.b", "services.c"]),
            .willStop(budget: .seconds(8)),
            .serviceChanged(path: "services.a", from: .ready, to: .quiescing),
        ]
        try await eventually { follower.all.count >= changes.count }
        #expect(follower.all == changes)
        withExtendedLifetime(observer) {}
    }

    @Test
    func `a stop shares its budget among the waves, and reports the time of each service`() async throws {
        let (registry, journal, clock) = (self.registry(), Journal(), self.clock)
        let began = clock.now
        func probe(_ name: ServiceName, needs: [Placement.Need] = []) -> Probe {
            Probe(name) {
                $0.placement.needs = needs
                $0.budgets = Budgets(quiesce: .seconds(60), stop: .seconds(60))
                $0.onQuiesce = { scope in
                    journal.add("quiesce \(name) \(scope.deadline.map { began.duration(to: $0) } ?? .zero)")
                    clock.advance(by: .seconds(1))
                }
                $0.onStop = { scope in
                    journal.add("stop \(name) \(scope.deadline.map { began.duration(to: $0) } ?? .zero)")
                    clock.advance(by: .seconds(2))
                }
            }
        }
        try registry.register(probe("a")).keep()
        try registry.register(probe("b", needs: [.hard("a")])).keep()
        try await registry.start()
        let report = await registry.stop(within: .seconds(20))
        // Two fifths of 20 s for flushing, and of what is left half for each wave but the last.
        #expect(
            journal.all == [
                "quiesce b 4.0 seconds", "quiesce a 8.0 seconds", "stop b 11.0 seconds", "stop a 20.0 seconds",
            ])
        #expect(report.rows.map { $0.time } == [.seconds(4), .seconds(5)])
        #expect(report.time == .seconds(6))
    }

    @Test
    func `a service is skipped when any of its hard needs failed`() async throws {
        let (registry, journal) = (self.registry(), Journal())
        try registry.register(Probe("good", in: journal)).keep()
        try registry.register(Probe("bad") { $0.onStart = { _ in throw Trouble() } }).keep()
        try registry.register(Probe("x", in: journal) { $0.placement.needs = [.hard("good"), .hard("bad")] }).keep()
        try registry.register(Probe("y", in: journal) { $0.placement.needs = [.hard("bad"), .hard("good")] }).keep()
        let report = try await registry.start()
        #expect(report.degraded["services.x"] == .skipped(because: "services.bad"))
        #expect(report.degraded["services.y"] == .skipped(because: "services.bad"))
        #expect(journal.all == ["start good"])
        await registry.stop()
    }

    @Test
    func `a required service that fails cancels the starts beside it`() async throws {
        let (registry, entered) = (self.registry(), Door())
        try registry.register(
            Probe("required") {
                $0.importance = .required
                $0.onStart = { _ in
                    await entered.pass()
                    throw Trouble()
                }
            }
        ).keep()
        try registry.register(
            Probe("slow") {
                $0.onStart = { _ in
                    entered.open()
                    try await Task.sleep(for: .seconds(3600))
                }
            }
        ).keep()
        let error = await #expect(throws: RegistryError.self) { try await registry.start() }
        #expect(error?.code == .startFailed && error?.paths == ["services.required"])
    }

    @Test
    func `a task that was cancelled before it starts a registry starts nothing`() async throws {
        let (registry, journal) = (self.registry(), Journal())
        try registry.register(Probe("a", in: journal)).keep()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await registry.start()
        }
        let error = await #expect(throws: RegistryError.self) { try await task.value }
        #expect(error?.code == .startCancelled)
        #expect(journal.all.isEmpty)
    }

    @Test
    func `a suggestion for a missing need is never the service that needs it`() async throws {
        let registry = self.registry()
        try registry.register(Probe("logger") { $0.placement.needs = [.hard("loger")] }).keep()
        let error = await #expect(throws: RegistryError.self) { try await registry.start() }
        #expect(error?.problems == ["services.logger.needs: 'loger' is not registered"])
    }

    @Test
    func `a registration that is drained has stopped its service`() async throws {
        let (registry, journal) = (self.registry(), Journal())
        let registration = try registry.register(Probe("a", in: journal))
        try await registry.start()
        await registration.cancelAndDrain()
        #expect(journal.all == ["start a", "quiesce a", "stop a"])
        await registry.stop()
    }
}
