internal import Linkspan
internal import LinkspanLifecycle
@testable internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("The end of messaging", .timeLimit(.minutes(1)))
struct MessagingEndTests {
    /// What must go with it.
    private struct Rest {
        weak var services: ServiceRegistry?
        weak var manager: ConnectionManager?
        weak var feature: Feature?

        var isGone: Bool { self.services == nil && self.manager == nil && self.feature == nil }
    }

    private let clock = VirtualScheduler()

    /// Returns once a condition holds; what a connection leaves behind ends on the clock's executor.
    private func settled(_ condition: () -> Bool) async throws {
        try await eventually(turn: { self.clock.advance(by: .seconds(60)) }, until: condition)
    }

    /// Stops while a service has its connection; without a link, since a scripted transport keeps its links for good.
    private func takeAndStop() async throws -> Rest {
        let (clock, transport, feature) = (self.clock, ScriptedTransport(scheduler: self.clock), Feature())
        let messaging = try await Messaging.start(
            MessagingPlan(url: "scripted://server", transport: transport, services: [feature, Refusing()]),
            connections: .init { $0.scheduler = clock })
        await #expect(throws: LinkspanError.self) { try await messaging.connect() }
        #expect(feature.state == .created)
        async let report = messaging.stop()
        await clock.run { feature.state == .released }
        #expect(await report.isClean)
        return Rest(services: messaging.services, manager: messaging.manager, feature: feature)
    }

    @Test
    func `nothing is left once it has stopped, although a service keeps its connection`() async throws {
        let rest = try await self.takeAndStop()
        try await self.settled { rest.isGone }
        #expect(rest.isGone)
    }

    @Test
    func `a required service that refused its connection holds up nobody once it is removed`() async throws {
        let transport = ScriptedTransport(scheduler: self.clock)
        let (plan, clock) = (MessagingPlan(url: "scripted://server", transport: transport), self.clock)
        var first = plan
        first.services = [PlannedService(Refusing())]
        let messaging = try await Messaging.start(first, connections: .init { $0.scheduler = clock })
        await #expect(throws: LinkspanError.self) { try await messaging.connect() }
        try await messaging.apply(
            PlanDifference(to: plan, [PlanChange(.service("refusing"), "refusing", .stop)]))
        let connection = try await messaging.connect()
        await clock.run { connection.state == .connected }
        await messaging.stop()
    }

    @Test
    func `a service that is made by a factory has the factory's name, unless it is given another`() throws {
        let factory = ServiceFactory("other") { _ in Feature() }
        #expect(try PlannedService(factory).name == "other")
        #expect(try PlannedService(factory, settings: .init(name: "third")).name == "third")
    }

    @Test
    func `a long budget leaves a slow server time for what waits to be sent`() async throws {
        let clock = self.clock
        let transport = ScriptedTransport(scheduler: clock) { _ in .init { $0.capacity = 1 } }
        // The registry has a clock of its own, so that this one holds the deadlines of connections only.
        let messaging = try await Messaging.start(
            MessagingPlan(url: "scripted://server", transport: transport),
            connections: .init { $0.scheduler = clock })
        let connection = try await messaging.connect()
        await clock.run { connection.state == .connected }
        for event in ["one", "two", "three"] { try connection.send(event) }
        await clock.run { transport.sent.count == 1 }
        let deadlines = clock.pendingCount
        let report = Lock<ShutdownReport?>(nil)
        // Runs beside the clock, which has to be moved meanwhile.
        Task {
            let ended = await messaging.stop(within: .seconds(100))
            report.withLock { $0 = ended }
        }
        await clock.pending(atLeast: deadlines + 1)
        clock.advance(by: .seconds(6))
        // Each makes room for the next.
        for count in 1...3 {
            transport.openPeers.first?.read()
            await clock.run { transport.received.count == count }
        }
        // The link is looked at every two milliseconds until it has passed on what it was given, and then closes.
        try await eventually(turn: { clock.advance(by: .milliseconds(1)) }) { report.withLock { $0 != nil } }
        #expect(report.withLock { $0?.isClean } == true)
        #expect(connection.state == .released)
        #expect(transport.received.map(\.event) == ["one", "two", "three"])
    }

    @Test
    func `it stops within eight seconds unless another budget is given`() async throws {
        let messaging = try await Messaging.start(
            MessagingPlan(url: "scripted://server", transport: ScriptedTransport(scheduler: self.clock)))
        let budgets = Lock<[Duration]>([])
        let observation = messaging.services.observe(weak: self.clock, RegistryEvent.self) { _, event in
            if case .willStop(let budget) = event.event { budgets.withLock { $0.append(budget) } }
        }
        await messaging.stop()
        try await eventually { budgets.withLock { $0 } == [.seconds(8)] }
        withExtendedLifetime(observation) {}
    }

    private func startInVain() async -> Rest {
        let (feature, transport) = (Feature(), ScriptedTransport(scheduler: self.clock))
        let planned = PlannedService(feature, settings: .init(placement: Placement(needs: [.hard("nothing")])))
        func start() async throws {
            var plan = MessagingPlan(url: "scripted://server", transport: transport)
            plan.services = [planned]
            _ = try await Messaging.start(plan)
        }
        await #expect(throws: LinkspanError.self) { try await start() }
        return Rest(feature: feature)
    }

    @Test
    func `nothing is left of one that could not be started`() async throws {
        let rest = await self.startInVain()
        try await self.settled { rest.isGone }
        #expect(rest.isGone)
    }
}

/// A store that nothing is asked of.
private final class Unused: DeliveryStore {
    let executor: any JobExecutor = SystemScheduler.makeExecutor(label: "unused")

    func open(account: String?, _ answer: @escaping @Sendable (Result<Void, any Error>) -> Void) {}
    func load(
        account: String?, after number: UInt64, rows: Int, bytes: Int,
        _ answer: @escaping @Sendable (Result<[StoredDelivery], any Error>) -> Void
    ) {}
    func keep(_ delivery: StoredDelivery, _ answer: @escaping @Sendable (Result<StoredDelivery, any Error>) -> Void) {}
    func end(_ delivery: StoredDelivery, _ answer: @escaping @Sendable () -> Void) {}
    func postpone(_ delivery: StoredDelivery) {}
    func find(
        key: String, account: String?, _ answer: @escaping @Sendable (Result<StoredDelivery?, any Error>) -> Void
    ) {}
    func close(account: String?) {}
    func erase(account: String?, _ answer: @escaping @Sendable () -> Void) {}
    func session(account: String?, _ answer: @escaping @Sendable (Result<StoredSession?, any Error>) -> Void) {}
    func keep(_ session: StoredSession, account: String?) {}
    var summary: String? { nil }
    var waitingCount: Int? { nil }
}

@Suite("A plan after another one")
struct NextPlanTests {
    @Test
    func `it keeps the former store and greeting where it has none`() throws {
        let transport = ScriptedTransport(scheduler: VirtualScheduler())
        let (plan, store) = (MessagingPlan(url: "scripted://server", transport: transport), Unused())
        var former = plan
        former.options.store = store
        former.options.greeting = Greeting("hello") { _ in }
        let next = try plan.configuration(after: try former.configuration)
        #expect(next.options.store === store && next.options.greeting != nil)
    }
}

private final class Feature: ConnectionUsing {
    let name: ServiceName = "feature"
    private let connection = Lock<(any Connection)?>(nil)

    var state: ConnectionState? { self.connection.withLock { $0 }?.state }

    func use(_ connection: any Connection) throws(LinkspanError) { self.connection.withLock { $0 = connection } }
}

private struct Refusing: ConnectionUsing {
    let name: ServiceName = "refusing"
    let importance: Importance = .required

    func use(_ connection: any Connection) throws(LinkspanError) { throw LinkspanError(.wrongState, "not now") }
}

@Suite("What an inspector gets", .timeLimit(.minutes(1)))
struct InspectionSubjectTests {
    private final class Viewer: MessagingInspecting {
        let name: ServiceName = "viewer"
        let subjects = Lock<[InspectionSubject]>([])
        let onInspect = Lock<(@Sendable () -> Void)?>(nil)
        let countAtStart = Lock(0)

        func start(_ scope: ServiceScope) async throws {
            let count = self.subjects.withLock { $0.count }
            self.countAtStart.withLock { $0 = count }
        }

        func inspect(_ subject: InspectionSubject) {
            self.subjects.withLock { $0.append(subject) }
            self.onInspect.withLock { $0 }?()
        }
    }

    @Test
    func `it moves the connection to another transport of the plan, and back`() async throws {
        let (clock, viewer) = (VirtualScheduler(), Viewer())
        let transports = ["one", "two", "three"].map { ScriptedTransport(scheduler: clock, name: $0) }
        var plan = MessagingPlan(url: "one://server", transport: transports[0], services: [viewer])
        plan.alternatives = transports.map {
            TransportAlternative(name: $0.name, url: "\($0.name)://server", transport: $0)
        }
        let messaging = try await Messaging.start(plan, connections: .init { $0.scheduler = clock })
        let connection = try await messaging.connect()
        await clock.run { connection.state == .connected }
        let first = try #require(viewer.subjects.withLock { $0.last })
        #expect(first.services === messaging.services && first.manager === messaging.manager)
        #expect(first.transports == ["two", "three"])
        #expect(viewer.countAtStart.withLock { $0 } == 1)
        #expect(throws: LinkspanError.self) { try first.move("one") }
        try first.move("two")
        await clock.run { transports[1].openPeers.count == 1 && connection.state == .connected }
        let second = try #require(viewer.subjects.withLock { $0.last })
        #expect(second.transports == ["one", "three"])
        try second.move("one")
        await clock.run { transports[0].peers.count == 2 && connection.state == .connected }
        await messaging.stop()
    }

    @Test
    func `it gets a changed plan before another change may begin`() async throws {
        let (viewer, isFree) = (Viewer(), Lock<[Bool]>([]))
        let transport = ScriptedTransport(scheduler: VirtualScheduler())
        let plan = MessagingPlan(url: "scripted://server", transport: transport, services: [viewer])
        let messaging = try await Messaging.start(plan)
        viewer.onInspect.withLock {
            $0 = { isFree.withLock { $0.append((try? messaging.beginChange()) != nil) } }
        }
        try await messaging.apply(PlanDifference(to: plan, []))
        #expect(isFree.withLock { $0 } == [false])
        viewer.onInspect.withLock { $0 = nil }
        await messaging.stop()
    }
}
