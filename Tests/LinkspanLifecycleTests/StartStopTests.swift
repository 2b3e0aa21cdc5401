internal import LinkspanLifecycle
internal import Testing

@Suite(.timeLimit(.minutes(1)))
struct StartStopTests {
    @Test
    func `starts in the order of needs and stops in the exact reverse`() async throws {
        let journal = Journal()
        let registry = ServiceRegistry()
        try registry.register(Probe("c", in: journal) { $0.placement.needs = [.hard("b")] }).keep()
        try registry.register(Probe("b", in: journal) { $0.placement.needs = [.hard("a")] }).keep()
        try registry.register(Probe("a", in: journal)).keep()
        let report = try await registry.start()
        #expect(report.waves == [["services.a"], ["services.b"], ["services.c"]])
        #expect(report.degraded.isEmpty)
        let shutdown = await registry.stop()
        #expect(
            journal.all == [
                "start a", "start b", "start c", "quiesce c", "quiesce b", "quiesce a", "stop c", "stop b", "stop a",
            ])
        #expect(shutdown.rows.map { $0.path } == ["services.c", "services.b", "services.a"])
        #expect(shutdown.isClean)
        #expect(shutdown.rows.allSatisfy { $0.undelivered == 0 })
    }

    @Test
    func `independent services start concurrently`() async throws {
        // Each waits for the other, so one after the other would never end.
        let (first, second) = (Door(), Door())
        let registry = ServiceRegistry()
        try registry.register(
            Probe("a") {
                $0.onStart = { _ in
                    first.open()
                    await second.pass()
                }
            }
        ).keep()
        try registry.register(
            Probe("b") {
                $0.onStart = { _ in
                    second.open()
                    await first.pass()
                }
            }
        ).keep()
        #expect(try await registry.start().degraded.isEmpty)
        await registry.stop()
    }

    @Test
    func `an invalid plan is rejected before any service starts`() async throws {
        let journal = Journal()
        let registry = ServiceRegistry()
        try registry.register(Probe("logging", in: journal)).keep()
        try registry.register(Probe("presence", in: journal) { $0.placement.needs = [.hard("loging")] }).keep()
        let error = await #expect(throws: RegistryError.self) { try await registry.start() }
        #expect(error?.code == .invalidPlan)
        #expect(
            error?.problems == ["services.presence.needs: 'loging' is not registered (did you mean 'logging'?)"])
        #expect(journal.all.isEmpty)
    }

    @Test
    func `a required service that fails rolls the start back in reverse order`() async throws {
        let journal = Journal()
        let registry = ServiceRegistry()
        try registry.register(Probe("a", in: journal)).keep()
        try registry.register(Probe("b", in: journal) { $0.placement.needs = [.hard("a")] }).keep()
        try registry.register(
            Probe("c", in: journal) {
                $0.placement.needs = [.hard("b")]
                $0.importance = .required
                $0.onStart = { _ in throw Trouble() }
            }
        ).keep()
        try registry.register(Probe("d", in: journal) { $0.placement.needs = [.hard("c")] }).keep()
        let error = await #expect(throws: RegistryError.self) { try await registry.start() }
        #expect(error?.code == .startFailed)
        #expect(error?.paths == ["services.c"])
        #expect(error?.message == "required service failed: services.c: trouble")
        #expect(
            journal.all == ["start a", "start b", "quiesce b", "quiesce a", "stop c", "stop b", "stop a"])
        #expect(error?.report?.fate(of: "services.a") == .stopped)
        #expect(error?.report?.fate(of: "services.c") == .failed("trouble"))
        #expect(error?.report?.fate(of: "services.d") == .registered)
        let again = await #expect(throws: RegistryError.self) { try await registry.start() }
        #expect(again?.code == .alreadyStopped)
    }

    @Test
    func `an optional service that fails leaves the registry degraded and its hard dependants skipped`() async throws {
        let journal = Journal()
        let registry = ServiceRegistry()
        try registry.register(Probe("a", in: journal) { $0.onStart = { _ in throw Trouble() } }).keep()
        try registry.register(Probe("hard", in: journal) { $0.placement.needs = [.hard("a")] }).keep()
        try registry.register(Probe("harder", in: journal) { $0.placement.needs = [.hard("hard")] }).keep()
        try registry.register(Probe("soft", in: journal) { $0.placement.needs = [.soft("a")] }).keep()
        let report = try await registry.start()
        #expect(
            report.degraded == [
                "services.a": .failed("trouble"), "services.hard": .skipped(because: "services.a"),
                "services.harder": .skipped(because: "services.hard"),
            ])
        #expect(registry.degraded == report.degraded)
        #expect(journal.all == ["start soft"])
        let shutdown = await registry.stop()
        #expect(shutdown.fate(of: "services.a") == .failed("trouble"))
        #expect(shutdown.fate(of: "services.hard") == .skipped(because: "services.a"))
        #expect(shutdown.fate(of: "services.soft") == .stopped)
        #expect(journal.all(with: "stop ") == ["soft", "a"])
    }

    @Test
    func `a service that fails does not keep the one before which it was put from starting`() async throws {
        let journal = Journal()
        let registry = ServiceRegistry()
        try registry.register(
            Probe("first", in: journal) {
                $0.placement.before = ["other"]
                $0.onStart = { _ in throw Trouble() }
            }
        ).keep()
        try registry.register(Probe("other", in: journal)).keep()
        let report = try await registry.start()
        #expect(report.degraded == ["services.first": .failed("trouble")])
        #expect(journal.all == ["start other"])
        await registry.stop()
    }

    @Test
    func `a required service that needs a failed one fails the start`() async throws {
        let registry = ServiceRegistry()
        try registry.register(Probe("a") { $0.onStart = { _ in throw Trouble() } }).keep()
        try registry.register(
            Probe("b") {
                $0.importance = .required
                $0.placement.needs = [.hard("a")]
            }
        ).keep()
        let error = await #expect(throws: RegistryError.self) { try await registry.start() }
        #expect(error?.message == "required service failed: services.b: needs services.a")
    }

    @Test
    func `settings make a service required or optional, whatever it says itself`() async throws {
        for (own, given) in [(Importance.optional, Importance.required), (.required, .optional)] {
            let registry = ServiceRegistry()
            try registry.register(
                Probe("a") {
                    $0.importance = own
                    $0.onStart = { _ in throw Trouble() }
                }, settings: ServiceSettings(importance: given)
            ).keep()
            do throws(RegistryError) {
                let report = try await registry.start()
                #expect(given == .optional && report.degraded == ["services.a": .failed("trouble")])
            } catch {
                #expect(given == .required && error.code == .startFailed)
            }
            await registry.stop()
        }
    }

    @Test
    func `a required service of an optional registry does not fail the start of the one around it`() async throws {
        let nested = ServiceRegistry(name: "nested")
        try nested.register(
            Probe("a") {
                $0.importance = .required
                $0.onStart = { _ in throw Trouble() }
            }
        ).keep()
        let registry = ServiceRegistry()
        try registry.register(nested, settings: ServiceSettings(importance: .optional)).keep()
        #expect(try await registry.start().degraded == ["services.nested.a": .failed("trouble")])
        await registry.stop()
    }

    @Test
    func `a second start joins the first`() async throws {
        let journal = Journal()
        let door = Door()
        let entered = Door()
        let registry = ServiceRegistry()
        try registry.register(
            Probe("a") {
                $0.onStart = { _ in
                    journal.add("start")
                    entered.open()
                    await door.pass()
                }
            }
        ).keep()
        async let first = registry.start()
        await entered.pass()
        async let second = registry.start()
        await Task.yield()
        door.open()
        #expect(try await first == second)
        #expect(try await registry.start() == first)
        #expect(journal.all == ["start"])
        await registry.stop()
    }

    @Test
    func `stop before start does nothing, and a later start throws`() async throws {
        let journal = Journal()
        let registry = ServiceRegistry()
        try registry.register(Probe("a", in: journal)).keep()
        let report = await registry.stop()
        #expect(report.rows.map { $0.fate } == [.registered])
        let error = await #expect(throws: RegistryError.self) { try await registry.start() }
        #expect(error?.code == .alreadyStopped)
        #expect(journal.all.isEmpty)
    }

    @Test
    func `stop during start cancels pending starts and stops ready services`() async throws {
        let journal = Journal()
        let entered = Door()
        let registry = ServiceRegistry()
        try registry.register(Probe("a", in: journal)).keep()
        try registry.register(
            Probe("b", in: journal) {
                $0.placement.needs = [.hard("a")]
                $0.onStart = { _ in
                    entered.open()
                    try await Task.sleep(for: .seconds(3600))
                }
            }
        ).keep()
        try registry.register(Probe("c", in: journal) { $0.placement.needs = [.hard("b")] }).keep()
        let start = Task { try await registry.start() }
        await entered.pass()
        let report = await registry.stop()
        let error = await #expect(throws: RegistryError.self) { try await start.value }
        #expect(error?.code == .startCancelled)
        #expect(error?.report == report)
        #expect(journal.all == ["start a", "quiesce a", "stop b", "stop a"])
        #expect(report.fate(of: "services.c") == .registered)
    }

    @Test
    func `two stops give one report, and services stop once`() async throws {
        let journal = Journal()
        let registry = ServiceRegistry()
        for name in ["a", "b", "c"] {
            try registry.register(Probe(ServiceName(rawValue: name), in: journal)).keep()
        }
        try await registry.start()
        async let first = registry.stop()
        async let second = registry.stop()
        let reports = await [first, second, registry.stop()]
        #expect(Set(reports).count == 1)
        #expect(journal.all(with: "stop ").sorted() == ["a", "b", "c"])
    }

    @Test
    func `cancelling the task that runs the registry stops in the same order as a stop`() async throws {
        let journal = Journal()
        let registry = ServiceRegistry()
        let isReady = Door()
        let isRunning = Door()
        try registry.register(Probe("database", in: journal)).keep()
        try registry.register(
            Probe("worker", in: journal) {
                $0.placement.needs = [.hard("database")]
                $0.onRun = { _ in
                    isRunning.open()
                    try? await Task.sleep(for: .seconds(3600))
                    journal.add("run ended")
                }
            }
        ).keep()
        let task = Task { try await registry.run { _ in isReady.open() } }
        await isReady.pass()
        await isRunning.pass()
        task.cancel()
        let report = try await task.value
        #expect(report.isClean)
        #expect(
            journal.all == [
                "start database", "start worker", "quiesce worker", "quiesce database", "run ended", "stop worker",
                "stop database",
            ])
    }

    @Test
    func `cancelling the task that starts rolls back, and reports services that never started`() async throws {
        let journal = Journal()
        let registry = ServiceRegistry()
        let entered = Door()
        try registry.register(Probe("a", in: journal)).keep()
        try registry.register(
            Probe("b", in: journal) {
                $0.placement.needs = [.hard("a")]
                $0.onStart = { _ in
                    entered.open()
                    try await Task.sleep(for: .seconds(3600))
                }
            }
        ).keep()
        let task = Task { try await registry.start() }
        await entered.pass()
        task.cancel()
        let error = await #expect(throws: RegistryError.self) { try await task.value }
        #expect(error?.code == .startCancelled)
        #expect(journal.all == ["start a", "quiesce a", "stop b", "stop a"])
    }

    @Test
    func `background work of a service that did not start does not begin`() async throws {
        let (registry, journal) = (ServiceRegistry(options: .init { $0.retryDelay = nil }), Journal())
        try registry.register(
            Probe("a") {
                $0.onStart = { _ in throw Trouble() }
                $0.onRun = { _ in journal.add("run") }
            }
        ).keep()
        try await registry.start()
        await registry.stop()
        #expect(journal.all(with: "run").isEmpty)
    }

    @Test
    func `background work that throws because it is cancelled is no fault`() async throws {
        let (registry, listener) = (ServiceRegistry(), Listener("listener"))
        try registry.register(listener).keep()
        try registry.register(
            Probe("a") {
                $0.placement.needs = [.hard("listener")]
                $0.onRun = { _ in try await Task.sleep(for: .seconds(3_600)) }
            }
        ).keep()
        try await registry.start()
        #expect(await registry.stop().isClean)
        #expect(registry.state(of: "services.a") == .stopped)
        #expect(listener.journal.all(with: "fault ").isEmpty)
    }

    @Test
    func `background work that throws leaves the service failed and the registry degraded`() async throws {
        let registry = ServiceRegistry()
        let failed = Door()
        let listener = Listener("listener", journal: Journal())
        let registration = try registry.register(listener)
        let watcher = Listener("unused")
        let observer = registry.observe(weak: watcher, FaultEvent.self) { _, event in
            if event.event.code == .runFailed {
                failed.open()
            }
        }
        try registry.register(Probe("a") { $0.onRun = { _ in throw Trouble() } }).keep()
        try await registry.start()
        await failed.pass()
        #expect(registry.state(of: "services.a") == .failed("run threw: trouble"))
        #expect(registry.degraded.keys.sorted() == ["services.a"])
        let report = await registry.stop()
        #expect(report.fate(of: "services.a") == .failed("run threw: trouble"))
        withExtendedLifetime((registration, observer, watcher)) {}
    }
}
