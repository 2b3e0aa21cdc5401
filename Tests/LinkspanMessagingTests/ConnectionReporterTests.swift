internal import Dispatch
@testable internal import LinkspanMessaging
@testable internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("Events of traffic and queues", .timeLimit(.minutes(1)))
struct ConnectionReporterTests {
    /// Hears of traffic and queues.
    private final class Ear: ConnectionObserving, TrafficObserving {
        let name: ServiceName
        let budgets = Budgets(mailbox: 10_000)
        let traffic = Lock<[TrafficEvent]>([])
        /// States and totals, in order.
        let story = Lock<[String]>([])
        let queues = Lock<[ConnectionEvent.Kind]>([])
        /// All but the round trips.
        let kinds = Lock<[ConnectionEvent.Kind]>([])

        init(_ name: ServiceName = "ear") { self.name = name }

        func on(_ event: Stamped<TrafficEvent>, _ scope: ServiceScope) async throws {
            self.traffic.withLock { $0.append(event.event) }
            self.story.withLock { $0.append("\(event.event.event) \(event.event.totals.sent)") }
        }

        func on(_ event: Stamped<ConnectionEvent>, _ scope: ServiceScope) async throws {
            let kind = event.event.kind
            if case .measured = kind {} else { self.kinds.withLock { $0.append(kind) } }
            switch kind {
            case .disconnected: self.story.withLock { $0.append("disconnected") }
            case .released: self.story.withLock { $0.append("released") }
            case .queueChanged, .queueNearlyFull, .queueHasRoom, .queueFlushed:
                self.queues.withLock { $0.append(kind) }
            default: ()
            }
        }
    }

    private let scheduler = VirtualScheduler()
    private let services = ServiceRegistry()
    private let ear = Ear()
    private let transport: ScriptedTransport
    private let manager: ConnectionManager

    init() async throws {
        let scheduler = self.scheduler
        self.transport = ScriptedTransport(scheduler: scheduler) { _ in .delaying(by: .milliseconds(20)) }
        self.transport.onMessage { if $0.event != "silence" { $0.reply($0.payload) } }
        self.manager = ConnectionManager(
            options: .init {
                $0.scheduler = scheduler
                $0.random = { 0.5 }
            }, services: self.services)
        try self.services.register(self.ear).keep()
        try await self.services.start()
    }

    private func connect(
        _ options: (inout ConnectionOptions) -> Void = { _ in }
    ) throws(LinkspanError) -> ConnectionHandler {
        let handler = try ConnectionBuilder("scripted://server").transport(self.transport).options(options)
            .connect(by: self.manager)
        self.scheduler.advance(by: .seconds(1))
        return handler
    }

    /// The latest totals of each event.
    private func heard() async -> [String: TrafficEvent.Totals] {
        // The stop lets everything out that waits.
        await self.services.stop()
        return self.ear.traffic.withLock { $0.reduce(into: [:]) { $0[$1.event] = $1.totals } }
    }

    private func totals(_ set: (inout TrafficEvent.Totals) -> Void) -> TrafficEvent.Totals {
        var totals = TrafficEvent.Totals()
        set(&totals)
        return totals
    }

    @Test
    func `what was added between two totals is known for each count`() {
        func totals(_ factor: Int) -> TrafficEvent.Totals {
            self.totals {
                ($0.sent, $0.sentBytes, $0.received, $0.receivedBytes) = (factor, 2 * factor, 3 * factor, 4 * factor)
                ($0.acknowledged, $0.roundTrips, $0.timedOut) = (5 * factor, .seconds(6 * factor), 7 * factor)
                ($0.expired, $0.dropped) = (8 * factor, 9 * factor)
            }
        }
        #expect(totals(3) - totals(1) == totals(2))
    }

    @Test
    func `sent, acknowledged and received messages are counted, with round trips and sizes`() async throws {
        let handler = try self.connect()
        try handler.perform(Command(.send, event: "news", payload: .json("1234")))
        try handler.perform(Command(.request, event: "ask", payload: .json("1234")))
        try handler.perform(Command(.deliver(orderingKey: "a"), event: "say", payload: .json("1234")))
        self.scheduler.advance(by: .milliseconds(100))
        self.transport.openPeers.first?.emit("item", .json("12"))
        self.scheduler.advance(by: .milliseconds(100))
        let confirmed = self.totals {
            ($0.sent, $0.sentBytes, $0.acknowledged, $0.roundTrips) = (1, 7, 1, .milliseconds(40))
        }
        #expect(
            await self.heard() == [
                "news": self.totals { ($0.sent, $0.sentBytes) = (1, 8) }, "ask": confirmed, "say": confirmed,
                "item": self.totals { ($0.received, $0.receivedBytes) = (1, 2) },
            ])
    }

    @Test
    func `timed out, expired and cancelled commands are counted`() async throws {
        let handler = try self.connect()
        try handler.perform(Command(.request, event: "silence", payload: .empty, timeout: .seconds(3)))
        self.scheduler.advance(by: .seconds(4))
        try handler.disconnect()
        try handler.perform(Command(.send, event: "late", payload: .empty, timeout: .seconds(2)))
        let given = Command(.send, event: "given", payload: .empty)
        try handler.perform(given)
        self.scheduler.advance(by: .seconds(3))
        handler.cancel(given.id)
        let heard = await self.heard()
        #expect(heard["silence"]?.sent == 1 && heard["silence"]?.timedOut == 1)
        #expect(heard["late"] == self.totals { $0.expired = 1 })
        #expect(heard["given"] == self.totals { $0.dropped = 1 })
    }

    @Test(arguments: [true, false])
    func `a delivery that stays in the store is not dropped, and a cancelled send has not failed`(hasStore: Bool) async
    {
        let connection = ObservedConnection(
            id: 1, endpoint: "scripted://server", transport: "scripted", hasStore: hasStore)
        let counter = TrafficCounter(of: 1, self.services) { _ in }
        let reporter = ConnectionReporter(connection, counter, services: self.services, scheduler: self.scheduler)
        let (released, replaced) = (LinkspanError(.released, "stopped"), LinkspanError(.cancelled, "replaced"))
        for _ in 0..<5 {
            reporter.finished(
                Command(.deliver(orderingKey: "a"), event: "say", payload: .empty), .failure(released))
        }
        reporter.finished(Command(.send, event: "typing", payload: .empty), .failure(replaced))
        counter.report()
        #expect(reporter.meter.counts.failed == (hasStore ? 0 : 5))
        #expect(await self.heard()["say"]?.dropped == (hasStore ? nil : 5))
    }

    @Test
    func `the event that measures the round trip is no message of the app`() async throws {
        let handler = try self.connect {
            $0.probeEvent = "latency"
            $0.probeInterval = .seconds(10)
        }
        self.scheduler.advance(by: .seconds(35))
        try handler.send("news")
        self.scheduler.advance(by: .seconds(1))
        #expect(self.transport.received.filter { $0.event == "latency" }.count == 3)
        #expect(handler.status.link?.roundTrip == .milliseconds(40))
        let heard = await self.heard()
        #expect(heard.keys.map { $0 } == ["news"] && heard["news"]?.sent == 1)
    }

    @Test
    func `totals are reported once in an interval while they change`() async throws {
        let handler = try self.connect()
        for _ in 0..<10 { try handler.send("news") }
        self.scheduler.advance(by: .milliseconds(100))
        for _ in 0..<10 { try handler.send("news") }
        let ear = self.ear
        #expect(ear.traffic.withLock { $0.isEmpty })
        self.scheduler.advance(by: .milliseconds(250))
        try await eventually { ear.traffic.withLock { $0.map(\.totals.sent) } == [20] }
        self.scheduler.advance(by: .seconds(10))
        try handler.send("news")
        self.scheduler.advance(by: .milliseconds(300))
        try await eventually { ear.traffic.withLock { $0.map(\.totals.sent) } == [20, 21] }
        await self.services.stop()
        #expect(ear.traffic.withLock { $0.count } == 2)
    }

    @Test
    func `each change of a connection is told with its attempt, its time and its reason`() async throws {
        let handler = try self.connect()
        self.transport.openPeers.first?.drop(LinkspanError(.connectionLost, "cut"))
        self.scheduler.advance(by: .seconds(10))
        try handler.disconnect()
        self.scheduler.advance(by: .seconds(1))
        try handler.send("one")
        try handler.connect()
        self.scheduler.advance(by: .seconds(1))
        handler.release()
        self.scheduler.advance(by: .seconds(600))
        await self.services.stop()
        let opened: [ConnectionEvent.Kind] = [
            .connecting(attempt: 1),
            .connected(attempt: 1, handshake: .milliseconds(40), resumed: false, transport: "scripted"),
        ]
        let disconnected = ConnectionEvent.Kind.disconnected(reason: "requested", code: nil, willRetry: false)
        let lost = [
            ConnectionEvent.Kind.disconnected(reason: "cut", code: "connectionLost", willRetry: true),
            .reconnecting(attempt: 1, delay: .seconds(1)),
        ]
        let again = [disconnected, .reconnecting(attempt: 1, delay: .zero)]
        let flushed = [ConnectionEvent.Kind.queueFlushed(count: 1, time: .zero)]
        #expect(
            self.ear.kinds.withLock { $0 }
                == [.created] + opened + lost + opened + again + opened + flushed + [disconnected, .released])
    }

    @Test
    func `the totals of a connection end with its release`() async {
        let connection = ObservedConnection(
            id: 1, endpoint: "scripted://server", transport: "scripted", hasStore: false)
        let counter = TrafficCounter(of: 1, self.services) { _ in }
        let reporter = ConnectionReporter(connection, counter, services: self.services, scheduler: self.scheduler)
        reporter.sent(Command(.send, event: "news", payload: .empty))
        reporter.queueChanged(depth: 9, limit: 10)
        reporter.changed(
            StateChange(from: .disconnected, to: .released, reason: .unoccupied, attempt: 0, time: self.scheduler.now))
        reporter.sent(Command(.send, event: "late", payload: .empty))
        reporter.queueChanged(depth: 0, limit: 10)
        counter.report()
        await self.services.stop()
        #expect(self.ear.story.withLock { $0 } == ["news 1", "released"])
        #expect(self.ear.queues.withLock { $0 } == [.queueNearlyFull(depth: 9, limit: 10)])
    }

    @Test
    func `failures to obtain credentials are counted until there are some`() async {
        let connection = ObservedConnection(
            id: 1, endpoint: "scripted://server", transport: "scripted", hasStore: false)
        let counter = TrafficCounter(of: 1, self.services) { _ in }
        let reporter = ConnectionReporter(connection, counter, services: self.services, scheduler: self.scheduler)
        let failure = CredentialEvent.failed(.first, LinkspanError(.timedOut, "no"), retryAfter: .seconds(1))
        for event in [
            failure, failure, .obtained(.retry, validFor: .seconds(2)), failure, .renewed(validFor: nil, isShown: true),
            .renewed(validFor: .seconds(3), isShown: false),
        ] { reporter.credentials(event) }
        await self.services.stop()
        func failed(_ attempt: Int) -> ConnectionEvent.Kind {
            .credentialsFailed(attempt: attempt, reason: "timedOut", retryAfter: .seconds(1))
        }
        #expect(
            self.ear.kinds.withLock { $0 } == [
                failed(1), failed(2), .credentialsObtained(validFor: .seconds(2)), failed(1),
                .credentialsRefreshed(validFor: nil, attempt: 2),
                .credentialsRefreshed(validFor: .seconds(3), attempt: 1),
            ])
    }

    @Test
    func `a meter counts all, and keeps as many messages as were asked for, the oldest first`() {
        var meter = ConnectionMeter()
        let now = self.scheduler.now
        let name = String(repeating: "n", count: 64)
        let command = Command(.request, event: name, payload: .json("1234"))
        func cross() {
            meter.sent(command) { now }
            meter.received("\(name)n", .json("56")) { now }
            meter.finished(command, .success(.json("7")), after: .seconds(1)) { now }
            meter.finished(command, .failure(LinkspanError(.timedOut, "no")), after: nil) { now }
            meter.finished(command, .failure(LinkspanError(.cancelled, "no")), after: nil) { now }
            meter.finished(Command(.send, event: "a", payload: .empty), .success(.empty), after: nil) { now }
        }
        cross()
        let early = meter.takeSample(room: 4, excerptBytes: 3)
        cross()
        cross()
        let frames = meter.takeSample(room: 2, excerptBytes: 0)
        cross()
        let few = meter.takeSample(room: 0, excerptBytes: 0)
        cross()
        let none = meter.takeSample(room: 0, excerptBytes: 0)
        #expect(early.isEmpty && none.isEmpty && few.map(\.excerpt) == [[], []])
        #expect(frames.map(\.kind) == [.sent, .received, .answered(after: .seconds(1)), .failed(.timedOut)])
        #expect(frames.map(\.event) == [name, String(repeating: "n", count: 32) + "…", name, name])
        #expect(frames.map(\.bytes) == [4, 2, 1, 0] && frames.allSatisfy { $0.time == now })
        #expect(frames.map(\.excerpt) == [Array("123".utf8), Array("56".utf8), Array("7".utf8), []])
        var counts = ConnectionMeter.Counts()
        (counts.sent, counts.sentBytes, counts.received, counts.receivedBytes) = (5, 5 * 68, 5, 10)
        (counts.answered, counts.failed) = (5, 5)
        #expect(meter.counts == counts)
        _ = meter.takeSample(room: 1, excerptBytes: 1)
        cross()
        let short = meter.takeSample(room: 0, excerptBytes: 0)
        #expect(short.map(\.excerpt) == [Array("1".utf8)])
    }

    @Test
    func `the last totals come before the end of the connection`() async throws {
        let handler = try self.connect()
        for _ in 0..<3 { try handler.send("news") }
        self.scheduler.advance(by: .milliseconds(50))
        try handler.disconnect()
        self.scheduler.advance(by: .milliseconds(50))
        try handler.send("late")
        handler.release()
        self.scheduler.advance(by: .seconds(600))
        await self.services.stop()
        #expect(self.ear.story.withLock { $0 }.filter { $0 != "late 0" } == ["news 3", "disconnected", "released"])
        #expect(self.ear.story.withLock { $0.last } == "released")
    }

    @Test
    func `each of many services that stop together gets the last totals`() async throws {
        let (services, scheduler) = (ServiceRegistry(), self.scheduler)
        let ears = (0..<40).map { Ear(ServiceName("ear\($0)")) }
        for ear in ears { try services.register(ear).keep() }
        try await services.start()
        let manager = ConnectionManager(options: .init { $0.scheduler = scheduler }, services: services)
        let handler = try ConnectionBuilder("scripted://server").transport(self.transport).connect(by: manager)
        self.scheduler.advance(by: .seconds(1))
        for number in 0..<100 { try handler.perform(Command(.send, event: "news\(number)", payload: .empty)) }
        await services.stop()
        #expect(ears.map { ear in Set(ear.traffic.withLock { $0.map(\.event) }).count } == ears.map { _ in 100 })
    }

    @Test
    func `an event that was counted several times since the last report is reported once`() throws {
        let counter = TrafficCounter(of: 1, self.services) { _ in }
        let mark = TrafficEvent(connection: 2, event: "mark", totals: .init())
        let before = try #require(self.services.emit(mark))
        for _ in 0..<3 { counter.count("news") { $0.sent += 1 } }
        counter.report()
        #expect(self.services.emit(mark) == before + 2)
    }

    @Test
    func `events after the first 256 of a connection are counted together`() async throws {
        let registry = ServiceRegistry()
        let counter = TrafficCounter(of: 1, registry) { _ in }
        for number in 0..<1_000 { counter.count("event\(number)") { $0.sent += 1 } }
        counter.report()
        let ear = self.ear
        let registration = registry.observe(weak: ear, TrafficEvent.self) { ear, event in
            ear.traffic.withLock { $0.append(event.event) }
        }
        registration.keep()
        try await eventually { ear.traffic.withLock { $0.count } == TrafficCounter.limit + 1 }
        #expect(TrafficCounter.limit == 256)
        #expect(ear.traffic.withLock { $0.reduce(0) { $0 + $1.totals.sent } } == 1_000)
        #expect(ear.traffic.withLock { $0.first { $0.event.isEmpty }?.totals.sent } == 1_000 - TrafficCounter.limit)
    }

    @Test(arguments: [1, 2, 3])
    func `a queue with room for one is never nearly full`(limit: Int) {
        var queue = QueueDepth()
        let kind = queue.changed(to: limit, limit: limit, now: self.scheduler.now)
        #expect(kind == (limit > 1 ? .queueNearlyFull(depth: limit, limit: limit) : nil))
    }

    @Test
    func `a queue is reported when it has doubled, is nearly full, and has been flushed`() async throws {
        let handler = try self.connect { $0.buffer.commands = 100 }
        try handler.disconnect()
        for _ in 0..<100 { try handler.perform(Command(.send, event: "news", payload: .empty)) }
        try handler.connect()
        self.scheduler.advance(by: .seconds(1))
        await self.services.stop()
        let queues = self.ear.queues.withLock { $0 }
        let growing = [16, 32, 64].map { ConnectionEvent.Kind.queueChanged(depth: $0, limit: 100) }
        #expect(Array(queues.prefix(4)) == growing + [.queueNearlyFull(depth: 80, limit: 100)])
        #expect(queues.contains(.queueHasRoom(depth: 0, limit: 100)))
        guard case .queueFlushed(let count, _) = queues.last else { return #expect(Bool(false), "\(queues)") }
        #expect(count == 100)
    }

    /// Blocks the thread it is called on, until the test is over.
    private final class Blocker: TrafficObserving {
        let name: ServiceName
        private let end: DispatchSemaphore

        init(_ name: ServiceName, until end: DispatchSemaphore) {
            self.name = name
            self.end = end
        }

        func on(_ event: Stamped<TrafficEvent>, _ scope: ServiceScope) async throws { self.block() }

        private func block() {
            self.end.wait()
            self.end.signal()
        }
    }

    @Test
    func `six services that block their threads delay neither sending nor the other services`() async throws {
        let end = DispatchSemaphore(value: 0)
        for number in 1...6 {
            let registration = try self.services.register(Blocker(ServiceName("blocker\(number)"), until: end))
            registration.keep()
        }
        let handler = try self.connect()
        let answered = Lock(0)
        for _ in 0..<1_000 {
            try handler.perform(
                Command(.request, event: "ask", payload: .empty) { _ in answered.withLock { $0 += 1 } })
        }
        self.scheduler.advance(by: .seconds(1))
        #expect(answered.withLock { $0 } == 1_000)
        let ear = self.ear
        try await eventually { ear.traffic.withLock { $0.last?.totals.acknowledged } == 1_000 }
        #expect(ear.traffic.withLock { $0.last?.totals.sent } == 1_000)
        end.signal()
        await self.services.stop()
    }

    @Test
    func `increases are what was added since the last event, and nothing for a replayed one`() {
        var increases = TrafficIncreases()
        func event(_ sent: Int, replayed: Bool = false, connection: UInt64 = 1) -> Stamped<TrafficEvent> {
            Stamped(
                TrafficEvent(connection: connection, event: "a", totals: self.totals { $0.sent = sent }), seq: 1,
                time: .now, replayed: replayed)
        }
        #expect(increases.note(event(3)).sent == 3)
        #expect(increases.note(event(5)).sent == 2)
        #expect(increases.note(event(7, replayed: true, connection: 2)).sent == 0)
        #expect(increases.note(event(8, connection: 2)).sent == 1)
        increases.forget(connection: 1)
        #expect(increases.note(event(1)).sent == 1)
    }
}
