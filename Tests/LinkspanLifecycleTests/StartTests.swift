internal import LinkspanLifecycle
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("Predicted order of start")
struct StartOrderTests {
    private struct Part: LifecycleService {
        let name: ServiceName
        var placement = Placement()
    }

    private static func order(_ parts: any LifecycleService...) throws -> StartOrder {
        try StartOrder(parts.map { ($0, ServiceSettings()) })
    }

    @Test(.timeLimit(.minutes(1)))
    func `a registry of the same services starts them in this order`() async throws {
        func parts() throws -> [any LifecycleService] {
            let chat = ServiceRegistry(name: "chat", placement: Placement(phase: .feature))
            try chat.register(Part(name: "rooms", placement: Placement(needs: [.hard("store")]))).keep()
            try chat.register(Part(name: "presence", placement: Placement(needs: [.hard("rooms")]))).keep()
            return [
                Part(name: "log", placement: Placement(phase: .core, priority: 9)),
                Part(name: "clock", placement: Placement(phase: .core)), chat,
                Part(name: "store", placement: Placement(phase: .storage, needs: [.soft("clock")])),
                Part(name: "late", placement: Placement(needs: [.hard("chat.presence"), .soft("nobody")])),
            ]
        }
        let order = try StartOrder(try parts().map { ($0, ServiceSettings()) })
        #expect(
            order.waves.map { $0.map { $0.name } } == [
                ["log", "clock"], ["store"], ["chat.rooms"], ["chat.presence"], ["late"],
            ])
        let registry = ServiceRegistry(name: "app")
        for part in try parts() { try registry.register(part).keep() }
        let report = try await registry.start()
        #expect(report.waves == order.waves.map { $0.map { "app.\($0.name)" } })
        await registry.stop()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a prediction leaves a nested registry as it is`() async throws {
        let chat = ServiceRegistry(name: "chat")
        try chat.register(Part(name: "rooms")).keep()
        #expect(try Self.order(chat).steps.map { $0.name } == ["chat.rooms"])
        let report = try await chat.start()
        #expect(report.waves == [["chat.rooms"]])
        await chat.stop()
    }

    @Test
    func `a step lists its needs, and dependants are found through others`() throws {
        let order = try Self.order(
            Part(name: "a"), Part(name: "b", placement: Placement(needs: [.hard("a")], priority: 4)),
            Part(name: "c", placement: Placement(needs: [.soft("a"), .hard("b")])),
            Part(name: "d", placement: Placement(needs: [.soft("a")])))
        #expect(order.steps.first { $0.name == "c" }?.needs == [.soft("a"), .hard("b")])
        #expect(order.steps.first { $0.name == "b" }?.priority == 4)
        #expect(order.dependants(of: ["a"]) == ["b", "c"])
        #expect(order.dependants(of: ["b"]) == ["c"])
        #expect(order.dependants(of: ["d"]).isEmpty)
    }

    @Test
    func `services that cannot be ordered are reported`() throws {
        let cycle = #expect(throws: RegistryError.self) {
            try Self.order(
                Part(name: "a", placement: Placement(needs: [.hard("b")])),
                Part(name: "b", placement: Placement(needs: [.hard("a")])))
        }
        #expect(cycle?.code == .invalidPlan && cycle?.message == "dependency cycle a -> b -> a")
        let missing = #expect(throws: RegistryError.self) {
            try Self.order(Part(name: "a", placement: Placement(needs: [.hard("bee"), .hard("cee")])))
        }
        #expect(missing?.problems.count == 2)
        let twice = #expect(throws: RegistryError.self) { try Self.order(Part(name: "a"), Part(name: "a")) }
        #expect(twice?.code == .duplicateName)
    }
}

@Suite("Starting again", .timeLimit(.minutes(1)))
struct StartRetryTests {
    private let recorder = EventRecorder()

    /// A service that fails to start so often.
    private func flaky(_ name: ServiceName, failures: Int) -> Probe {
        let (left, recorder) = (Lock(failures), self.recorder)
        return Probe(name) {
            $0.onStart = { _ in
                recorder.note("start \(name)")
                let fails = left.withLock { left in
                    left -= 1
                    return left >= 0
                }
                if fails { throw Trouble() }
            }
            $0.onStop = { _ in recorder.note("stop \(name)") }
        }
    }

    private func registry(_ configure: (inout RegistryOptions) -> Void = { _ in }) -> ServiceRegistry {
        ServiceRegistry(
            options: .init {
                $0.retryDelay = .milliseconds(10)
                $0.retryCap = .milliseconds(20)
                configure(&$0)
            })
    }

    @Test
    func `an optional service that fails to start is started again, and what needs it follows`() async throws {
        let registry = self.registry()
        let recorder = self.recorder
        try registry.register(self.flaky("a", failures: 3)).keep()
        try registry.register(
            Probe("b") {
                $0.placement.needs = [.hard("a")]
                $0.onStart = { _ in recorder.note("start b") }
            }
        ).keep()
        try registry.register(
            Probe("c") {
                $0.placement.needs = [.hard("b")]
                $0.onStart = { _ in recorder.note("start c") }
            }
        ).keep()
        let report = try await registry.start()
        #expect(report.degraded.keys.sorted() == ["services.a", "services.b", "services.c"])
        try await recorder.wait(for: "all to start") { $0.count == 9 }
        #expect(
            recorder.notes == [
                "start a", "stop a", "start a", "stop a", "start a", "stop a", "start a", "start b", "start c",
            ])
        let shutdown = await registry.stop()
        #expect(shutdown.isClean)
        #expect(recorder.notes.last == "stop a")
        #expect(recorder.notes.count == 10)
    }

    @Test
    func `what is lacking is told when it changes, until nothing is`() async throws {
        let registry = self.registry()
        let told = EventRecorder()
        let watcher = Journal()
        let observer = registry.observe(weak: watcher, RegistryEvent.self) { _, event in
            if case .degraded(let paths) = event.event { told.note("[\(paths.joined(separator: " "))]") }
        }
        try registry.register(self.flaky("a", failures: 3)).keep()
        try registry.register(self.flaky("b", failures: 1)).keep()
        try await registry.start()
        try await told.wait(for: "all to start") { $0.last?.summary == "note: []" }
        #expect(told.notes == ["[services.a services.b]", "[services.a]", "[]"])
        let late = try registry.register(Probe("late") { $0.onStart = { _ in throw Trouble() } })
        try await told.wait(for: "the late one to fail") { $0.last?.summary == "note: [services.late]" }
        late.cancel()
        try await told.wait(for: "the late one to go") { $0.last?.summary == "note: []" }
        #expect(told.notes.count == 5)
        await registry.stop()
        withExtendedLifetime((observer, watcher)) {}
    }

    @Test
    func `each wait is twice the one before, up to the cap`() async throws {
        let (clock, starts) = (ManualScheduler(), Lock(0))
        let registry = self.registry {
            $0.scheduler = clock
            $0.retryDelay = .seconds(2)
            $0.retryCap = .seconds(9)
        }
        try registry.register(
            Probe("a") {
                $0.onStart = { _ in
                    starts.withLock { $0 += 1 }
                    throw Trouble()
                }
            }
        ).keep()
        try await registry.start()
        for (number, seconds) in [2, 4, 8, 9, 9].enumerated() {
            try await eventually {
                guard case .failed = registry.state(of: "services.a") else { return false }
                return clock.pending == 1
            }
            clock.advance(by: .milliseconds(1_000 * seconds - 1))
            #expect(clock.pending == 1 && starts.withLock { $0 } == number + 1)
            clock.advance(by: .milliseconds(1))
            try await eventually { starts.withLock { $0 } == number + 2 }
        }
        await registry.stop()
    }

    @Test
    func `a service that gets its events again after it has started`() async throws {
        let registry = self.registry()
        let listener = Listening(self.recorder)
        try registry.register(listener).keep()
        try await registry.start()
        try await self.recorder.wait(for: "the second start") { $0.count == 2 }
        // Ready when the start has been settled.
        try await eventually { registry.state(of: "services.listening") == .ready }
        registry.emit(AppEvent.didBecomeActive)
        try await self.recorder.wait(for: "the event") { $0.count == 3 }
        #expect(self.recorder.notes.last == "event")
        await registry.stop()
    }

    @Test
    func `a skipped service that waits for a second need gets its events once it has started`() async throws {
        let registry = self.registry()
        let (entered, door) = (Door(), Door())
        let waiting = Listener("c")
        // Starts again only while the start of the other one is under way.
        for (name, isEntering) in [("a" as ServiceName, false), ("b", true)] {
            let failures = Lock(1)
            try registry.register(
                Probe(name) {
                    $0.onStart = { _ in
                        let fails = failures.withLock { left in
                            left -= 1
                            return left >= 0
                        }
                        if fails { throw Trouble() }
                        if isEntering { entered.open() }
                        await (isEntering ? door : entered).pass()
                    }
                }
            ).keep()
        }
        try registry.register(
            waiting, settings: ServiceSettings(placement: Placement(needs: [.hard("a"), .soft("b")]))
        ).keep()
        try await registry.start()
        try await eventually { registry.state(of: "services.c") == .registered }
        door.open()
        try await eventually { registry.state(of: "services.c") == .ready }
        await registry.barrier(message("end"))
        #expect(waiting.journal.all(with: "message ") == ["end"])
        await registry.stop()
    }

    @Test
    func `a registry that stops starts nothing again`() async throws {
        let registry = self.registry { $0.retryDelay = .seconds(3_600) }
        try registry.register(self.flaky("a", failures: 1)).keep()
        try await registry.start()
        await registry.stop()
        #expect(self.recorder.notes == ["start a", "stop a"])
    }

    @Test
    func `a required service is not started again`() async throws {
        let registry = self.registry()
        var service = self.flaky("a", failures: 1)
        service.importance = .required
        try registry.register(service).keep()
        await #expect(throws: RegistryError.self) { try await registry.start() }
        #expect(self.recorder.notes == ["start a", "stop a"])
    }
}

private final class Listening: AppObserving {
    let name: ServiceName = "listening"
    private let recorder: EventRecorder
    private let starts = Lock(0)

    init(_ recorder: EventRecorder) { self.recorder = recorder }

    func start(_ scope: ServiceScope) async throws {
        self.recorder.note("start")
        let isFirst = self.starts.withLock { starts in
            starts += 1
            return starts == 1
        }
        if isFirst { throw Trouble() }
    }

    func on(_ event: Stamped<AppEvent>, _ scope: ServiceScope) async throws { self.recorder.note("event") }
}
