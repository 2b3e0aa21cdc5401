internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("Asynchronous use of the connection", .timeLimit(.minutes(1)))
struct AsyncUseTests {
    private let clock = VirtualScheduler()

    private func start(
        _ transport: ScriptedTransport, _ services: any LifecycleService...
    ) async throws -> Messaging {
        let clock = self.clock
        return try await Messaging.start(
            MessagingPlan(url: "scripted://server", transport: transport, services: services),
            connections: .init { $0.scheduler = clock })
    }

    @Test
    func `an actor is a service without a lock, and misses no message`() async throws {
        let transport = ScriptedTransport(scheduler: self.clock)
        transport.onConnect { $0.emit("score", .json("1")) }
        let scores = Scores()
        let messaging = try await self.start(transport, scores)
        let connection = try messaging.connect()
        await self.clock.run { connection.state == .connected }
        transport.openPeers.first?.emit("score", .json("2"))
        self.clock.settle()
        try await eventually { await scores.sum >= 3 }
        #expect(await scores.sum == 3)
        #expect(try messaging.services.service(of: Scores.self) === scores)
        await messaging.stop()
    }

    @Test
    func `services take the next connection after a log-out`() async throws {
        let transport = ScriptedTransport(scheduler: self.clock)
        transport.onConnect { $0.emit("score", .json("1")) }
        let (scores, board) = (Scores(), Board())
        let messaging = try await self.start(transport, scores, board)
        let first = try messaging.connect()
        await self.clock.run { first.state == .connected }
        async let isOut: Void = messaging.manager.logOut(.none)
        await self.clock.run { first.state == .released && transport.openPeers.isEmpty }
        await isOut
        let second = try messaging.connect()
        await self.clock.run { second.state == .connected }
        transport.openPeers.first?.emit("score", .json("1"))
        self.clock.settle()
        try await eventually { await scores.sum >= 3 }
        #expect(await scores.sum == 3)
        #expect(board.count == 3)
        await messaging.stop()
    }

    @Test
    func `the connection is opened when every service has taken it`() async throws {
        let transport = ScriptedTransport(scheduler: self.clock)
        let gate = Promise<Void>()
        let slow = Slow(gate)
        let messaging = try await self.start(transport, slow)
        let connection = try messaging.connect()
        let second = try messaging.connect()
        await slow.isCalled.value
        self.clock.settle()
        #expect(transport.peers.isEmpty)
        gate.fulfill()
        await self.clock.run { connection.state == .connected }
        #expect(transport.peers.count == 1)
        second.release()
        await messaging.stop()
    }

    @Test
    func `a service that only listens need not keep its connection, and is heard of no more when it is removed`()
        async throws
    {
        let transport = ScriptedTransport(scheduler: self.clock)
        let listener = Listener()
        let messaging = try await self.start(transport, listener)
        let connection = try messaging.connect()
        await self.clock.run { connection.state == .connected }
        transport.openPeers.first?.emit("score", .json("1"))
        self.clock.settle()
        #expect(listener.recorder.notes == ["1"])
        try await messaging.apply(
            PlanDifference(
                to: MessagingPlan(url: "scripted://server", transport: transport),
                [PlanChange(.service("listener"), "listener", .stop)]))
        transport.openPeers.first?.emit("score", .json("2"))
        self.clock.settle()
        #expect(listener.recorder.notes == ["1"])
        await messaging.stop()
    }

    @Test
    func `a service that keeps its connection, and is kept by its listener, is heard of no more when it is removed`()
        async throws
    {
        let transport = ScriptedTransport(scheduler: self.clock)
        let keeper = Keeper()
        let recorder = keeper.recorder
        // Under a name of the plan's own.
        let planned = PlannedService(keeper, settings: ServiceSettings(name: "feature"))
        let clock = self.clock
        var plan = MessagingPlan(url: "scripted://server", transport: transport)
        plan.services = [planned]
        let messaging = try await Messaging.start(plan, connections: .init { $0.scheduler = clock })
        let connection = try messaging.connect()
        await self.clock.run { connection.state == .connected }
        #expect(messaging.manager.statistics.first?.holders == 2)
        try await messaging.apply(
            PlanDifference(
                to: MessagingPlan(url: "scripted://server", transport: transport),
                [PlanChange(.service("feature"), "feature", .stop)]))
        transport.openPeers.first?.emit("score", .json("2"))
        self.clock.settle()
        #expect(recorder.notes.isEmpty)
        #expect(messaging.manager.statistics.first?.holders == 1)
        await messaging.stop()
    }

    @Test
    func `the connection is opened although the first caller has let go of it meanwhile`() async throws {
        let transport = ScriptedTransport(scheduler: self.clock)
        let gate = Promise<Void>()
        let slow = Slow(gate)
        let messaging = try await self.start(transport, slow)
        let first = try messaging.connect()
        let second = try messaging.connect()
        await slow.isCalled.value
        first.release()
        gate.fulfill()
        await self.clock.run { second.state == .connected }
        await messaging.stop()
    }

    @Test(arguments: [true, false])
    func `a service that is added and fails to take the connection is a fault, and the change holds`(throwing: Bool)
        async throws
    {
        let transport = ScriptedTransport(scheduler: self.clock)
        let faults = Faults()
        let messaging = try await self.start(transport, faults)
        let connection = try messaging.connect()
        await self.clock.run { connection.state == .connected }
        let late: any LifecycleService = throwing ? Broken() : Slow(Promise<Void>())
        let plan = MessagingPlan(url: "scripted://server", transport: transport, services: [faults, late])
        let change = PlanChange(.service(late.name), late.name.rawValue, .start)
        let waits = self.clock.pendingCount
        async let applied: Void = messaging.apply(PlanDifference(to: plan, [change]))
        if !throwing {
            await self.clock.pending(atLeast: waits + 1)
            self.clock.advance(by: .seconds(10))
        }
        try await applied
        try await faults.recorder.wait(for: "the fault") { !$0.isEmpty }
        #expect(faults.recorder.notes.first?.contains("services.\(late.name) use") == true)
        #expect(messaging.services.state(of: "services.\(late.name)") == .ready)
        await messaging.stop()
    }

    @Test
    func `a connect that failed with one service still gives the others their connection`() async throws {
        let transport = ScriptedTransport(scheduler: self.clock)
        let scores = Scores()
        let messaging = try await self.start(transport, Refusing(), scores)
        #expect(throws: LinkspanError.self) { try messaging.connect() }
        let connection = try messaging.connect()
        await self.clock.run { connection.state == .connected }
        transport.openPeers.first?.emit("score", .json("3"))
        self.clock.settle()
        try await eventually { await scores.sum >= 3 }
        await messaging.stop()
    }

    @Test
    func `a connect that failed opens nothing, although other services have their connection; the next one does`()
        async throws
    {
        let transport = ScriptedTransport(scheduler: self.clock)
        let (listener, refusing) = (Listener(), Refusing())
        let messaging = try await self.start(transport, listener, refusing)
        #expect(throws: LinkspanError.self) { try messaging.connect() }
        messaging.manager.signal(.foreground)
        self.clock.advance(by: .seconds(60))
        #expect(transport.peers.isEmpty)
        let connection = try messaging.connect()
        await self.clock.run { connection.state == .connected }
        transport.openPeers.first?.emit("score", .json("3"))
        self.clock.settle()
        #expect(listener.recorder.notes == ["3"])
        await messaging.stop()
    }

    @Test(arguments: [KeeperSignal.foreground, .pathAvailable])
    func `neither the app's return nor the path's opens the connection before every service has taken it`(
        signal: KeeperSignal
    ) async throws {
        let transport = ScriptedTransport(scheduler: self.clock)
        let gate = Promise<Void>()
        let slow = Slow(gate)
        let messaging = try await self.start(transport, slow)
        let connection = try messaging.connect()
        await slow.isCalled.value
        messaging.manager.signal(signal)
        self.clock.settle()
        #expect(transport.peers.isEmpty)
        gate.fulfill()
        await self.clock.run { connection.state == .connected }
        await messaging.stop()
    }

    @Test
    func `a service that throws is a fault, and the connection is opened without it`() async throws {
        let transport = ScriptedTransport(scheduler: self.clock)
        let faults = Faults()
        let messaging = try await self.start(transport, Broken(), faults)
        let connection = try messaging.connect()
        await self.clock.run { connection.state == .connected }
        try await faults.recorder.wait(for: "the fault") { !$0.isEmpty }
        #expect(faults.recorder.notes.first?.contains("services.broken use threw") == true)
        await messaging.stop()
    }
}

private actor Scores: AsyncConnectionUsing {
    let name: ServiceName = "scores"
    private(set) var sum = 0
    private var reading: Task<Void, Never>?

    func use(_ connection: any Connection) throws {
        let scores = try connection.values("score", as: Int.self)
        self.reading = Task {
            for await score in scores { self.sum += (try? score.get()) ?? 0 }
        }
    }
}

private final class Listener: ConnectionUsing {
    let name: ServiceName = "listener"
    let recorder = EventRecorder()

    func use(_ connection: any Connection) throws(LinkspanError) {
        try connection.on("score", as: Int.self) { [recorder] in recorder.note("\((try? $0.get()) ?? 0)") }
    }
}

/// A service that keeps its connection, whose listener keeps the service.
private final class Keeper: ConnectionUsing {
    let name: ServiceName = "keeper"
    let recorder = EventRecorder()
    private let connection = Lock<(any Connection)?>(nil)

    func use(_ connection: any Connection) throws(LinkspanError) {
        self.connection.withLock { $0 = connection }
        try connection.on("score", as: Int.self) { self.recorder.note("\((try? $0.get()) ?? 0)") }
    }
}

private struct Refusing: ConnectionUsing {
    let name: ServiceName = "refusing"

    func use(_ connection: any Connection) throws(LinkspanError) { throw LinkspanError(.wrongState, "not now") }
}

private final class Slow: AsyncConnectionUsing {
    let name: ServiceName = "slow"
    let isCalled = Promise<Void>()
    private let gate: Promise<Void>

    init(_ gate: Promise<Void>) { self.gate = gate }

    func use(_ connection: any Connection) async {
        self.isCalled.fulfill()
        await self.gate.value
    }
}

private struct Broken: AsyncConnectionUsing {
    let name: ServiceName = "broken"

    func use(_ connection: any Connection) async throws { throw CancellationError() }
}

private final class Faults: FaultObserving {
    let name: ServiceName = "faults"
    let recorder = EventRecorder()

    func on(_ event: Stamped<FaultEvent>, _ scope: ServiceScope) async throws {
        self.recorder.note("\(event.event.path) \(event.event.message)")
    }
}

/// A service that counts messages, and keeps no connection.
private final class Board: ConnectionUsing {
    let name: ServiceName = "board"
    private let heard = Lock(0)

    var count: Int { self.heard.withLock { $0 } }

    func use(_ connection: any Connection) throws(LinkspanError) {
        try connection.on("score") { [weak self] _ in self?.heard.withLock { $0 += 1 } }
    }
}
