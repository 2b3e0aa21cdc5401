internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("Use of the connection by services", .timeLimit(.minutes(1)))
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
        let connection = try await messaging.connect()
        await self.clock.run { connection.state == .connected }
        transport.openPeers.first?.emit("score", .json("2"))
        self.clock.settle()
        try await eventually { await scores.sum >= 3 }
        #expect(await scores.sum == 3)
        #expect(try messaging.services.service(of: Scores.self) === scores)
        await messaging.stop()
    }

    @Test
    func `each service has its handler when connect returns, in each of many connects at the same time`() async throws {
        let transport = ScriptedTransport(scheduler: self.clock)
        let (speaker, board) = (Speaker(), MainBoard())
        let messaging = try await self.start(transport, speaker, board)
        for round in 1...50 {
            try await withThrowingDiscardingTaskGroup { group in
                for caller in 0..<4 {
                    group.addTask {
                        let connection = try await messaging.connect()
                        try await speaker.say(caller)
                        #expect(await board.connection?.state != .released)
                        connection.release()
                    }
                }
            }
            let connection = try await messaging.connect()
            await self.clock.run { transport.received.count == 4 * round }
            #expect(transport.peers.count == round)
            async let isOut: Void = messaging.manager.logOut(.none)
            await self.clock.run { connection.state == .released && transport.openPeers.isEmpty }
            await isOut
        }
        await messaging.stop()
    }

    @Test
    func `services take the next connection after a log-out`() async throws {
        let transport = ScriptedTransport(scheduler: self.clock)
        transport.onConnect { $0.emit("score", .json("1")) }
        let (scores, board) = (Scores(), Board())
        let messaging = try await self.start(transport, scores, board)
        let first = try await messaging.connect()
        await self.clock.run { first.state == .connected }
        async let isOut: Void = messaging.manager.logOut(.none)
        await self.clock.run { first.state == .released && transport.openPeers.isEmpty }
        await isOut
        let second = try await messaging.connect()
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
        let (slow, faults) = (Slow(gate), Faults())
        let messaging = try await self.start(transport, slow, faults)
        async let first = messaging.connect()
        async let second = messaging.connect()
        await slow.isCalled.value
        self.clock.settle()
        #expect(transport.peers.isEmpty)
        gate.fulfill()
        let connection = try await first
        await self.clock.run { connection.state == .connected }
        #expect(transport.peers.count == 1)
        try await second.release()
        await messaging.stop()
        #expect(faults.recorder.notes.isEmpty)
    }

    @Test
    func `a service that only listens need not keep its connection, and is heard of no more when it is removed`()
        async throws
    {
        let transport = ScriptedTransport(scheduler: self.clock)
        let listener = Listener()
        let messaging = try await self.start(transport, listener)
        let connection = try await messaging.connect()
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
        let connection = try await messaging.connect()
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
    func `the connection is opened although the first caller was cancelled meanwhile and lets go of it`() async throws {
        let transport = ScriptedTransport(scheduler: self.clock)
        let gate = Promise<Void>()
        let slow = Slow(gate)
        let messaging = try await self.start(transport, slow)
        let first = Task { _ = try await messaging.connect() }
        await slow.isCalled.value
        async let second = messaging.connect()
        first.cancel()
        gate.fulfill()
        let connection = try await second
        await self.clock.run { connection.state == .connected }
        await messaging.stop()
    }

    @Test(arguments: [true, false])
    func `a service that is added and fails to take the connection is a fault, and the change holds`(throwing: Bool)
        async throws
    {
        let transport = ScriptedTransport(scheduler: self.clock)
        let faults = Faults()
        let messaging = try await self.start(transport, faults)
        let connection = try await messaging.connect()
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
    func `a required service that is added and throws fails the change`() async throws {
        let transport = ScriptedTransport(scheduler: self.clock)
        let messaging = try await self.start(transport)
        let connection = try await messaging.connect()
        let plan = MessagingPlan(url: "scripted://server", transport: transport, services: [Refusing()])
        let change = PlanChange(.service("refusing"), "refusing", .start)
        let error = await #expect(throws: LinkspanError.self) {
            try await messaging.apply(PlanDifference(to: plan, [change]))
        }
        #expect(error?.message.contains("services.refusing: use failed: not now; the former plan") == true)
        #expect(messaging.manager.statistics.first?.holders == 1)
        connection.release()
        await messaging.stop()
    }

    @Test
    func `a connect that failed with a required service asks it again, and gives the others their connection`()
        async throws
    {
        let transport = ScriptedTransport(scheduler: self.clock)
        let (refusing, scores) = (Refusing(), Scores())
        let messaging = try await self.start(transport, refusing, scores)
        let error = await #expect(throws: LinkspanError.self) { try await messaging.connect() }
        #expect(error?.code == .wrongState)
        #expect(error?.message == "services.refusing: use failed: not now")
        let connection = try await messaging.connect()
        #expect(refusing.hasTaken)
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
        await #expect(throws: LinkspanError.self) { try await messaging.connect() }
        messaging.manager.signal(.foreground)
        self.clock.advance(by: .seconds(60))
        #expect(transport.peers.isEmpty)
        let connection = try await messaging.connect()
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
        async let connected = messaging.connect()
        await slow.isCalled.value
        messaging.manager.signal(signal)
        self.clock.settle()
        #expect(transport.peers.isEmpty)
        gate.fulfill()
        let connection = try await connected
        await self.clock.run { connection.state == .connected }
        await messaging.stop()
    }

    @Test(arguments: [true, false])
    func `a service that throws or hangs is a fault, and the connection is opened without it`(throwing: Bool)
        async throws
    {
        let transport = ScriptedTransport(scheduler: self.clock)
        let (faults, slow) = (Faults(), Slow(Promise<Void>()))
        let messaging = try await self.start(transport, throwing ? Broken() : slow, faults)
        async let connected = messaging.connect()
        if !throwing {
            await slow.isCalled.value
            await self.clock.pending(atLeast: 1)
            self.clock.advance(by: .seconds(10))
        }
        let connection = try await connected
        await self.clock.run { connection.state == .connected }
        try await faults.recorder.wait(for: "the fault") { !$0.isEmpty }
        let told = throwing ? "services.broken use failed" : "services.slow use failed: it did not return within 10"
        #expect(faults.recorder.notes.first?.hasPrefix(told) == true)
        if !throwing { await slow.isCancelled.value }
        connection.release()
        self.clock.advance(by: .seconds(60))
        #expect(transport.openPeers.isEmpty == throwing, "a service that threw holds it no more")
        await messaging.stop()
    }
}

/// A service that can speak as soon as it has its connection.
private actor Speaker: ConnectionUsing {
    let name: ServiceName = "speaker"
    private var connection: (any Connection)?

    func use(_ connection: any Connection) { self.connection = connection }

    func say(_ number: Int) throws {
        let connection = self.connection
        try #require(connection, "the service has no connection yet").send("say", number)
    }
}

/// A model of an app, which is a service as it is.
@MainActor
private final class MainBoard: ConnectionUsing {
    nonisolated let name: ServiceName = "main"
    private(set) var connection: (any Connection)?

    func use(_ connection: any Connection) { self.connection = connection }
}

private actor Scores: ConnectionUsing {
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

/// A required service that refuses its connection once.
private final class Refusing: ConnectionUsing {
    let name: ServiceName = "refusing"
    let importance: Importance = .required
    private let calls = Lock(0)

    var hasTaken: Bool { self.calls.withLock { $0 } > 1 }

    func use(_ connection: any Connection) throws(LinkspanError) {
        self.calls.withLock { $0 += 1 }
        guard self.hasTaken else { throw LinkspanError(.wrongState, "not now") }
    }
}

private final class Slow: ConnectionUsing {
    let name: ServiceName = "slow"
    let isCalled = Promise<Void>()
    let isCancelled = Promise<Void>()
    private let gate: Promise<Void>

    init(_ gate: Promise<Void>) { self.gate = gate }

    func use(_ connection: any Connection) async {
        self.isCalled.fulfill()
        await withTaskCancellationHandler {
            await self.gate.value
        } onCancel: {
            self.isCancelled.fulfill()
        }
    }
}

private struct Broken: ConnectionUsing {
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
