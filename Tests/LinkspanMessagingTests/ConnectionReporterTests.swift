internal import Dispatch
@testable internal import LinkspanMessaging
internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Events of messages and queues", .timeLimit(.minutes(1)))
struct ConnectionReporterTests {
    /// Hears of messages and queues.
    private final class Ear: MessageObserving, BufferObserving {
        let name: ServiceName = "ear"
        let budgets = Budgets(mailbox: 10_000)
        let messages = Lock<[MessageEvent]>([])
        let queues = Lock<[BufferEvent]>([])

        func on(_ event: Stamped<MessageEvent>, _ scope: ServiceScope) async throws {
            self.messages.withLock { $0.append(event.event) }
        }

        func on(_ event: Stamped<BufferEvent>, _ scope: ServiceScope) async throws {
            self.queues.withLock { $0.append(event.event) }
        }
    }

    private let scheduler = VirtualScheduler()
    private let services = ServiceRegistry(options: .init { $0.batchDelay = .zero })
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

    private func heard() async -> [MessageEvent.Kind] {
        // A stop lets everything out that waits.
        await self.services.stop()
        return self.ear.messages.withLock { $0.map(\.kind) }
    }

    @Test
    func `sent, acknowledged and received messages are reported, with round trips and sizes`() async throws {
        let handler = try self.connect()
        try handler.perform(Command(.send, event: "news", payload: .json("1234")))
        try handler.perform(Command(.request, event: "ask", payload: .json("1234")))
        try handler.perform(Command(.deliver(orderingKey: "a"), event: "say", payload: .json("1234")))
        self.scheduler.advance(by: .milliseconds(100))
        self.transport.openPeers.first?.emit("item", .json("12"))
        self.scheduler.advance(by: .milliseconds(100))
        let roundTrip = MessageEvent.Kind.acknowledged(roundTrip: .milliseconds(40))
        #expect(await self.heard() == [.sent, .sent, .sent, roundTrip, roundTrip, .received])
        let sizes = self.ear.messages.withLock { $0.map { "\($0.event) \($0.bytes)" } }
        #expect(sizes == ["news 8", "ask 7", "say 7", "ask 7", "say 7", "item 2"])
    }

    @Test
    func `timed out, expired and cancelled commands are reported`() async throws {
        let handler = try self.connect()
        try handler.perform(Command(.request, event: "silence", payload: .empty, timeout: .seconds(3)))
        self.scheduler.advance(by: .seconds(4))
        try handler.disconnect()
        try handler.perform(Command(.send, event: "late", payload: .empty, timeout: .seconds(2)))
        let given = Command(.send, event: "given", payload: .empty)
        try handler.perform(given)
        self.scheduler.advance(by: .seconds(3))
        handler.cancel(given.id)
        #expect(
            await self.heard() == [.sent, .timedOut(limit: .seconds(3)), .expired, .dropped(reason: "cancelled")])
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
        #expect(await self.heard() == [.sent])
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
        let growing = queues.prefix(4).map { "\($0.depth) \($0.kind)" }
        #expect(growing == ["16 level", "32 level", "64 level", "80 highWater"])
        #expect(queues.contains { $0.kind == .lowWater })
        guard case .flushed(let count, _) = queues.last?.kind else { return #expect(Bool(false), "\(queues)") }
        #expect(count == 100)
        #expect(queues.last?.depth == 0)
    }

    /// Blocks the thread it is called on, until the test is over.
    private final class Blocker: MessageObserving {
        let name: ServiceName
        private let end: DispatchSemaphore

        init(_ name: ServiceName, until end: DispatchSemaphore) {
            self.name = name
            self.end = end
        }

        func on(_ event: Stamped<MessageEvent>, _ scope: ServiceScope) async throws { self.block() }

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
        await Self.eventually { ear.messages.withLock { $0.count } == 2_000 }
        #expect(ear.messages.withLock { $0.count } == 2_000)
        end.signal()
        await self.services.stop()
    }

    /// Returns once something is so; the suite's time limit ends a wait in vain.
    private static func eventually(_ isSo: @Sendable () -> Bool) async {
        while !isSo(), !Task.isCancelled { await Task.yield() }
    }

    @Test
    func `events of messages add up to one with the mean round trip and the sum of the sizes`() throws {
        let first = MessageEvent(connection: 1, event: "a", bytes: 3, kind: .acknowledged(roundTrip: .milliseconds(1)))
        var sum = first
        sum.add(MessageEvent(connection: 1, event: "a", bytes: 4, kind: .acknowledged(roundTrip: .milliseconds(3))))
        sum.add(sum)
        #expect(sum.summed.kind == .acknowledged(roundTrip: .milliseconds(2)))
        #expect(sum.summed.count == 4 && sum.summed.bytes == 14 && sum.summed.event == "a")
        #expect(first.sumKey(isCoarse: false) == sum.sumKey(isCoarse: false))
        var other = first
        other.event = "b"
        #expect(first.sumKey(isCoarse: false) != other.sumKey(isCoarse: false))
        #expect(first.sumKey(isCoarse: true) == other.sumKey(isCoarse: true))
        other.add(first)
        #expect(other.summed.event.isEmpty)
    }

    @Test
    func `without observers messages are not collected`() async throws {
        let services = ServiceRegistry()
        #expect(!services.hasAudience(for: MessageEvent.self))
        let registration = services.observe(weak: self.ear, MessageEvent.self) { _, _ in }
        #expect(services.hasAudience(for: MessageEvent.self))
        registration.cancel()
        #expect(!services.hasAudience(for: MessageEvent.self))
    }
}
