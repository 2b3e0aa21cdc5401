internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@testable internal import LinkspanLifecycle

/// What a service may do wrong.
enum Misbehaviour: String, CaseIterable, Sendable {
    case throwsError
    /// Waits for something that never comes, but ends when cancelled.
    case hangs
    /// Waits for something that never comes, whatever happens.
    case ignoresCancellation
    case blocksThread

    func act(_ wall: Wall, _ door: Door) async throws {
        switch self {
        case .throwsError: throw Trouble()
        case .hangs: try await Task.sleep(for: .seconds(3600))
        case .ignoresCancellation: await door.pass()
        case .blocksThread: wall.block()
        }
    }

    /// Whether the call ends when its time is over.
    var endsInTime: Bool {
        switch self {
        case .throwsError: true
        case .hangs, .ignoresCancellation, .blocksThread: false
        }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct FaultTests {
    private let clock = ManualScheduler()
    private let journal = Journal()
    private let wall = Wall()
    private let door = Door()

    /// A registry with three good services and a bad one in between, on a clock that the test moves.
    private func registry(
        _ configure: (inout Probe) -> Void
    ) throws -> ServiceRegistry {
        let clock = self.clock
        let registry = ServiceRegistry(options: .init { $0.scheduler = clock })
        try registry.register(Probe("first", in: self.journal)).keep()
        try registry.register(
            Probe("bad", in: self.journal) {
                $0.placement.needs = [.hard("first")]
                configure(&$0)
            }
        ).keep()
        try registry.register(Probe("beside", in: self.journal) { $0.placement.needs = [.hard("first")] }).keep()
        try registry.register(Probe("last", in: self.journal) { $0.placement.needs = [.soft("bad")] }).keep()
        return registry
    }

    private func release() {
        self.wall.takeDown()
        self.door.open()
    }

    @Test(arguments: Misbehaviour.allCases)
    func `a start that fails or hangs delays the others no longer than its budget`(misbehaviour: Misbehaviour)
        async throws
    {
        let (wall, door) = (self.wall, self.door)
        defer { self.release() }
        let entered = Door()
        let registry = try self.registry {
            $0.onStart = { _ in
                entered.open()
                try await misbehaviour.act(wall, door)
            }
        }
        async let start = registry.start()
        await entered.pass()
        try await eventually { registry.state(of: "services.beside") == .ready }
        if !misbehaviour.endsInTime {
            #expect(registry.state(of: "services.last") == .registered)
            self.clock.advance(by: .milliseconds(9_999))
            #expect(registry.state(of: "services.bad") == .starting)
            self.clock.advance(by: .milliseconds(1))
        }
        let report = try await start
        let state: ServiceState = misbehaviour.endsInTime ? .failed("trouble") : .abandoned(during: [.start])
        #expect(report.degraded == ["services.bad": state])
        for name in ["first", "beside", "last"] {
            #expect(registry.state(of: "services.\(name)") == .ready)
        }
        let shutdown = await registry.stop()
        #expect(shutdown.fate(of: "services.bad") == state)
        #expect(self.journal.all(with: "stop ").filter { $0 != "bad" } == ["last", "beside", "first"])
    }

    @Test(
        arguments: Misbehaviour.allCases,
        [LifecycleStep.quiesce, .stop])
    func `a bad quiesce or stop of one is named, and the others stop in order`(
        misbehaviour: Misbehaviour, step: LifecycleStep
    ) async throws {
        let (wall, door) = (self.wall, self.door)
        defer { self.release() }
        let entered = Door()
        let registry = try self.registry { probe in
            let act: Probe.Action = { _ in
                entered.open()
                try await misbehaviour.act(wall, door)
            }
            if step == .quiesce {
                probe.onQuiesce = act
            } else {
                probe.onStop = act
            }
        }
        try await registry.start()
        async let stop = registry.stop(within: .seconds(100))
        await entered.pass()
        let journal = self.journal
        if !misbehaviour.endsInTime {
            // Until the only deadline left is that of the bad one.
            let clock = self.clock
            try await eventually { journal.all.contains("\(step) beside") && clock.pending == 1 }
            #expect(!journal.all.contains("\(step) first"))
            self.clock.advance(by: step == .quiesce ? .seconds(2) : .seconds(3))
        }
        let report = await stop
        #expect(
            report.fate(of: "services.bad")
                == (misbehaviour.endsInTime ? .failed("\(step) threw: trouble") : .abandoned(during: [step])))
        #expect(report.rows.count == 4)
        #expect(report.rows.filter { $0.fate == .stopped }.count == 3)
        #expect(self.journal.all(with: "stop ").filter { $0 != "bad" } == ["last", "beside", "first"])
    }

    /// A clock that notes the times for which something is planned.
    private struct NotingScheduler: Scheduler {
        let clock = ManualScheduler()
        let instants = Lock<[ContinuousClock.Instant]>([])

        var now: ContinuousClock.Instant { self.clock.now }

        func schedule(
            at instant: ContinuousClock.Instant, on executor: (any JobExecutor)?, _ work: @escaping @Sendable () -> Void
        ) -> any ScheduledWork {
            defer { self.instants.withLock { $0.append(instant) } }
            return self.clock.schedule(at: instant, on: executor, work)
        }
    }

    @Test(arguments: [false, true], [(10, 3), (2, 2)])
    func `a start that hangs is given its grace by a stop, or a quarter of the stop's budget if that is less`(
        isRunning: Bool, seconds: (grace: Int, limit: Int)
    ) async throws {
        let (entered, door) = (Door(), Door())
        let clock = NotingScheduler()
        let registry = ServiceRegistry(
            options: .init {
                $0.scheduler = clock
                $0.grace = .seconds(seconds.grace)
            })
        let hanging = Probe("hanging") {
            $0.budgets.start = .seconds(20)
            $0.onStart = { _ in
                entered.open()
                await door.pass()
            }
        }
        if isRunning { try await registry.start() }
        try registry.register(hanging).keep()
        async let start = isRunning ? nil : try? registry.start()
        await entered.pass()
        async let stop = registry.stop(within: .seconds(12))
        let limit = clock.now + .seconds(seconds.limit)
        try await eventually { clock.instants.withLock { $0.contains(limit) } }
        clock.clock.advance(by: .seconds(seconds.limit))
        let report = await stop
        #expect(report.time <= .seconds(seconds.limit))
        #expect(report.fate(of: "services.hanging") == .abandoned(during: [.start]))
        #expect(await start == nil)
        door.open()
    }

    @Test
    func `the whole stop takes no longer than its budget, and a wave that hangs leaves time for the later ones`()
        async throws
    {
        let wall = self.wall
        defer { self.release() }
        let clock = self.clock
        let journal = self.journal
        let registry = ServiceRegistry(options: .init { $0.scheduler = clock })
        let entered = [Door(), Door()]
        try registry.register(Probe("base", in: journal)).keep()
        for index in 0..<2 {
            try registry.register(
                Probe("hanging\(index)") {
                    $0.placement.needs = [.hard(index == 0 ? "base" : "hanging0")]
                    $0.onStop = { _ in
                        entered[index].open()
                        wall.block()
                    }
                }
            ).keep()
        }
        try await registry.start()
        async let stop = registry.stop(within: .seconds(4))
        await entered[1].pass()
        // Half of four seconds for the first wave, half of the rest for the second.
        clock.advance(by: .seconds(2))
        await entered[0].pass()
        clock.advance(by: .seconds(1))
        let report = await stop
        #expect(report.time == .seconds(3))
        #expect(report.fate(of: "services.hanging0") == .abandoned(during: [.stop]))
        #expect(report.fate(of: "services.hanging1") == .abandoned(during: [.stop]))
        #expect(report.fate(of: "services.base") == .stopped)
        #expect(journal.all.last == "stop base")
    }

    @Test(arguments: Misbehaviour.allCases)
    func `a handler that fails or hangs delays neither the emitter nor the other services`(misbehaviour: Misbehaviour)
        async throws
    {
        let (wall, door, clock) = (self.wall, self.door, self.clock)
        defer { self.release() }
        // One after the other, so that the good one has flushed when time passes for the bad one.
        let registry = ServiceRegistry(
            options: .init {
                $0.scheduler = clock
                $0.isSequential = true
            })
        let entered = Door()
        let scopes = Lock<[ServiceScope]>([])
        let bad = Listener("bad") { event, scope in
            if event.event.event == "bad" {
                scopes.withLock { $0.append(scope) }
                entered.open()
                try await misbehaviour.act(wall, door)
            }
        }
        let good = Listener("good")
        try registry.register(bad).keep()
        try registry.register(good).keep()
        try await registry.start()
        registry.emit(message("bad"))
        registry.emit(message("next"))
        await entered.pass()
        try await eventually { good.journal.all(with: "message ") == ["bad", "next"] }
        if !misbehaviour.endsInTime {
            // Until both receivers are looked after.
            try await eventually { clock.pending == 2 }
            clock.advance(by: .seconds(1))
        }
        let fault = "\(misbehaviour.endsInTime ? "handlerFailed" : "limitHit") services.bad"
        try await eventually { good.journal.all(with: "fault ").contains(fault) }
        // So long that the steps below cannot use it up, however many they are.
        async let stop = registry.stop(within: .seconds(1_000_000))
        switch misbehaviour {
        case .throwsError, .hangs:
            #expect(await stop.fate(of: "services.bad") == .stopped)
            #expect(bad.journal.all(with: "message ") == ["bad", "next"])
            #expect(await stop.rows.map(\.undelivered) == [0, 0])
        case .ignoresCancellation, .blocksThread:
            try await eventually { registry.state(of: "services.bad") == .quiescing }
            // Up to where the good one, the first in the reverse order, is stopped.
            try await self.advance(until: { registry.state(of: "services.good") != .quiescing })
            guard case .abandoned(let steps) = await stop.fate(of: "services.bad") else {
                Issue.record("a handler that is still going on is not named")
                return
            }
            #expect(steps.contains(.handle))
            #expect(bad.journal.all(with: "message ") == ["bad"])
            #expect(scopes.withLock { $0.map(\.isAbandoned) } == [true])
            // The message behind that of the handler, and the fault that names the handler.
            #expect(await stop.rows.first { $0.path == "services.bad" }?.undelivered == 2)
        }
        #expect(await stop.fate(of: "services.good") == .stopped)
    }

    @Test
    func `a service that fails twice while it stops has its first failure, and is stopping meanwhile`() async throws {
        let registry = ServiceRegistry()
        let journal = self.journal
        let bad = Probe("bad") {
            $0.onQuiesce = { _ in throw Trouble() }
            $0.onStop = { [weak registry] _ in
                journal.add("\(registry?.state(of: "services.bad") == .stopping)")
                throw Trouble()
            }
        }
        try registry.register(bad).keep()
        try await registry.start()
        #expect(await registry.stop().fate(of: "services.bad") == .failed("quiesce threw: trouble"))
        #expect(journal.all == ["true"])
    }

    @Test
    func `a service that is being stopped gets no message that is emitted after its quiesce`() async throws {
        let (door, entered) = (self.door, Door())
        let registry = ServiceRegistry(options: .init { [clock] in $0.scheduler = clock })
        let listener = Listener("listener") { _, _ in
            entered.open()
            await door.pass()
        }
        try registry.register(listener).keep()
        try await registry.start()
        registry.emit(message("first"))
        await entered.pass()
        async let stop = registry.stop(within: .seconds(100))
        try await eventually {
            let waiting = registry.inspected.map(\.mailbox.waiting)
            registry.emit(message("later"))
            return registry.state(of: "services.listener") == .quiescing
                && registry.inspected.map(\.mailbox.waiting) == waiting
                && registry.inspected.allSatisfy { $0.mailbox.lost == 0 }
        }
        registry.emit(message("last"))
        door.open()
        #expect(await stop.isClean)
        #expect(!listener.journal.all.contains("message last"))
    }

    /// Moves the clock in small steps; only for waits in which nobody else can run out of time.
    private func advance(until condition: () -> Bool) async throws {
        try await eventually {
            if condition() { return true }
            self.clock.advance(by: .milliseconds(10))
            for _ in 0..<20 {
                await Task.yield()
            }
            return condition()
        }
    }

    @Test
    func `background work that does not end is reported, and the service is stopped`() async throws {
        let door = self.door
        defer { self.release() }
        let isRunning = Door()
        let registry = try self.registry {
            $0.onRun = { _ in
                isRunning.open()
                await door.pass()
            }
        }
        try await registry.start()
        await isRunning.pass()
        async let stop = registry.stop(within: .seconds(100))
        // Half of the budget of its stop is for its background work; nobody else waits for anything by then.
        let clock = self.clock
        try await eventually { registry.state(of: "services.beside") == .stopped && clock.pending == 1 }
        self.clock.advance(by: .milliseconds(1_500))
        #expect(await stop.fate(of: "services.bad") == .abandoned(during: [.run]))
        #expect(Set(self.journal.all(with: "stop ")) == ["last", "beside", "bad", "first"])
        #expect(self.journal.all(with: "stop ").last == "first")
    }

    @Test
    func `a service whose start returns after its deadline is stopped, and its scope throws`() async throws {
        let (door, journal) = (self.door, self.journal)
        let entered = Door()
        let registry = try self.registry { probe in
            probe.onStart = { scope in
                entered.open()
                await door.pass()
                journal.add("abandoned \(scope.isAbandoned)")
                let error = #expect(throws: RegistryError.self) { try scope.emit(message("late")) }
                #expect(error?.code == .abandoned)
            }
            probe.onStop = { _ in journal.add("stop bad") }
        }
        async let start = registry.start()
        await entered.pass()
        try await eventually { registry.state(of: "services.beside") == .ready }
        self.clock.advance(by: .seconds(10))
        #expect(try await start.degraded == ["services.bad": .abandoned(during: [.start])])
        door.open()
        try await eventually { journal.all.contains("stop bad") }
        #expect(journal.all(with: "abandoned ") == ["true"])
        await registry.stop()
        #expect(journal.all(with: "stop ").filter { $0 == "bad" }.count == 1)
    }

    @Test
    func `six services that block their threads cost the caller one budget, not six`() async throws {
        let (wall, clock, journal) = (self.wall, self.clock, self.journal)
        defer { wall.takeDown() }
        let registry = ServiceRegistry(options: .init { $0.scheduler = clock })
        for index in 0..<6 {
            try registry.register(
                Probe("blocker\(index)") {
                    $0.budgets.start = .milliseconds(500)
                    $0.onStart = { _ in
                        journal.add("blocked")
                        wall.block()
                    }
                }
            ).keep()
        }
        try registry.register(Probe("good", in: journal)).keep()
        async let start = registry.start()
        try await eventually {
            journal.all(with: "blocked").count == 6 && registry.state(of: "services.good") == .ready
        }
        // One after the other they would take 3 s, on a pool that they block for ever.
        clock.advance(by: .milliseconds(500))
        let report = try await start
        #expect(report.time == .milliseconds(500))
        #expect(report.degraded.count == 6)
        #expect(journal.all(with: "start ") == ["good"])
        let shutdown = await registry.stop()
        #expect(shutdown.rows.filter { $0.fate == .abandoned(during: [.start]) }.count == 6)
        #expect(shutdown.fate(of: "services.good") == .stopped)
    }

    @Test
    func `more blocking services than the thread limit do not delay the caller`() async throws {
        let wall = self.wall
        defer { wall.takeDown() }
        let registry = ServiceRegistry(
            options: .init {
                $0.threads = 1
                $0.threadLimit = 3
            })
        for index in 0..<8 {
            try registry.register(
                Probe("blocker\(index)") {
                    $0.budgets.start = .milliseconds(100)
                    $0.onStart = { _ in wall.block() }
                }
            ).keep()
        }
        let report = try await registry.start()
        #expect(report.degraded.count == 8)
        let shutdown = await registry.stop()
        #expect(shutdown.rows.allSatisfy { $0.fate == .abandoned(during: [.start]) })
    }

    @Test(arguments: [(3, 3), (0, 1)])
    func `as many threads as the base, and one at least, are added at once`(base: Int, count: Int) async throws {
        let threads = ServiceThreads(base: base, cap: base)
        let wall = Wall()
        for _ in 0..<5 { threads.submit { wall.block() } }
        #expect(threads.count == count)
        wall.takeDown()
        threads.close()
        try await eventually { threads.count == 0 }
    }

    #if os(Linux)
    @Test
    func `work that comes while the system has no thread left waits until it has one`() async {
        await #expect(processExitsWith: .success) {
            let (hasClock, done) = (Door(), Door())
            _ = SystemScheduler.shared.schedule(at: .now) { hasClock.open() }
            await hasClock.pass()
            let shortage = try ThreadShortage()
            let threads = ServiceThreads(base: 1, cap: 1)
            threads.submit { done.open() }
            try #require(threads.count == 0)
            shortage.end()
            await done.pass()
            try #require(threads.count == 1)
        }
    }
    #endif

    @Test
    func `there are no more threads than the cap, however long work waits`() async throws {
        let (capped, free) = (ServiceThreads(base: 1, cap: 2), ServiceThreads(base: 1, cap: 8))
        let wall = Wall()
        for _ in 0..<6 {
            capped.submit { wall.block() }
            free.submit { wall.block() }
        }
        // Those without a cap have had as much time.
        try await eventually { free.count == 6 }
        #expect(capped.count == 2)
        wall.takeDown()
        try await eventually { capped.count == 1 && free.count == 1 }
        capped.close()
        free.close()
        try await eventually { capped.count == 0 && free.count == 0 }
    }

    @Test
    func `added threads end when they are idle`() async throws {
        let threads = ServiceThreads(base: 1, cap: 8)
        let wall = Wall()
        let all = Lock(0)
        let done = Door()
        for _ in 0..<5 {
            threads.submit {
                wall.block()
                let last = all.withLock { count in
                    count += 1
                    return count == 5
                }
                if last {
                    done.open()
                }
            }
        }
        try await eventually { threads.count == 5 }
        wall.takeDown()
        await done.pass()
        try await eventually { threads.count <= 1 }
        threads.close()
        try await eventually { threads.count == 0 }
        // A task that outlives its registry must still find a thread.
        await threads.begin {}.value
    }
}
