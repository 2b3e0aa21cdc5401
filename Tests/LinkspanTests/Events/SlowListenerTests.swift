@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import Testing

@Suite("Listeners that take long")
struct SlowListenerTests {
    /// A connection whose listeners take the time that their message says, in milliseconds, and what was logged.
    private struct Stage {
        let scheduler = DraggingScheduler()
        let log = LogRecorder(from: .warning)
        let connection: PooledConnection
        let transport: ScriptedTransport
        let peer: ScriptedPeer

        init(limit: Duration = .milliseconds(100), hearsAll: Bool = true) throws {
            self.transport = ScriptedTransport(scheduler: self.scheduler.base)
            let log = self.log
            let environment = ConnectionEnvironment(
                scheduler: self.scheduler, random: { 0.5 }, logger: Logger(label: "test") { _ in log }, observer: nil)
            let configuration = try ConnectionBuilder("scripted://server").transport(self.transport)
                .options { $0.slowListener = limit }.build()
            self.connection = PooledConnection(id: 1, configuration: configuration, environment: environment)
            let scheduler = self.scheduler
            if hearsAll {
                try self.connection.onAny { scheduler.drag(.milliseconds((try? $0.decode(Int.self)) ?? 0)) }
            }
            try self.connection.connect()
            scheduler.base.settle()
            self.peer = try #require(self.transport.peers.first)
        }

        func hear(_ event: String, milliseconds: Int) {
            self.peer.emit(event, .json("\(milliseconds)"))
            self.scheduler.base.settle()
        }

        /// Delivers several events to the connection as one read.
        func hear(_ events: [(String, milliseconds: Int)]) throws {
            let messages = events.map { LinkEvent.message(InboundMessage(event: $0, payload: .json("\($1)"))) }
            try self.connection.ask { core in
                var iterator = messages.makeIterator()
                core.receive(epoch: core.epoch ?? 0, at: core.now) { iterator.next() }
            }
        }
    }

    @Test
    func `at most 256 events are named`() {
        var slow = SlowListeners(limit: .zero)
        let named = (0..<300).compactMap { slow.heard("\($0)", in: .seconds(1)) }
        #expect(named.count == 256)
    }

    @Test
    func `behind a slow group a thousand long reads are timed message by message, and no other group is named`() {
        var slow = SlowListeners(limit: .zero)
        func hearGroup() -> String? {
            for name in ["a", "b"] { slow.add(.message(InboundMessage(event: name, payload: .empty))) }
            return slow.heardGroup(in: .seconds(1))
        }
        let isTimed = { slow.times(SlowListeners.timedMessages + 1) }
        #expect(!isTimed())
        #expect(hearGroup() == "one of a, b")
        for _ in 1..<1_000 { slow.longReadEnded() }
        #expect(isTimed())
        slow.longReadEnded()
        #expect(!isTimed())
        #expect(hearGroup() == nil)
    }

    @Test
    func `one that blocks its executor beyond the limit is logged once, with event and time`() throws {
        let stage = try Stage()
        stage.hear("quick", milliseconds: 100)
        #expect(stage.log.lines.isEmpty)
        stage.hear("slow", milliseconds: 150)
        stage.hear("slow", milliseconds: 500)
        stage.hear("other", milliseconds: 101)
        #expect(stage.log.lines.map { $0.metadata["event"]?.description } == ["slow", "other"])
        #expect(stage.log.lines.first?.metadata["time"]?.description == "0.15 seconds")
    }

    @Test
    func `the limit is an option, and the name of an event cannot forge a line of the log`() throws {
        let stage = try Stage(limit: .milliseconds(10))
        stage.hear("a\nb", milliseconds: 11)
        #expect(stage.log.lines.map { $0.metadata["event"]?.description } == [#"a\u{a}b"#])
    }

    @Test
    func `among the first messages of a read, the one that blocked is told`() throws {
        let stage = try Stage()
        try stage.hear([("quick", 60), ("slow", 150), ("quick", 60), ("last", 101)])
        #expect(stage.log.lines.map { $0.metadata["event"]?.description } == ["slow", "last"])
        #expect(stage.log.lines.first?.metadata["time"]?.description == "0.15 seconds")
    }

    @Test
    func `behind the first messages of a read, one that blocks is told with its neighbours, and alone the next time`()
        throws
    {
        let stage = try Stage()
        let quick = Array(repeating: ("quick", milliseconds: 1), count: SlowListeners.timedMessages)
        try stage.hear(quick + quick + [("quick", 1), ("slow", 150), ("quick", 1)])
        let group = "one of quick, slow"
        #expect(stage.log.lines.map { $0.metadata["event"]?.description } == [group])
        try stage.hear(quick + [("quick", 60), ("slow", 150), ("quick", 60)])
        #expect(stage.log.lines.map { $0.metadata["event"]?.description } == [group, "slow"])
    }

    @Test(arguments: [9, 16, 17, 24, 30])
    func `where all messages are of one event, that is told wherever in a read it blocks`(position: Int) throws {
        let stage = try Stage()
        var events = Array(repeating: ("tick", milliseconds: 1), count: position)
        events[position - 1].milliseconds = 150
        for _ in 0..<2 { try stage.hear(events) }
        #expect(stage.log.lines.map { $0.metadata["event"]?.description } == ["tick"])
    }

    @Test
    func `many messages that take little each are not told, however many come in a read`() throws {
        let stage = try Stage()
        try stage.hear(Array(repeating: ("quick", milliseconds: 10), count: 500))
        #expect(stage.log.lines.isEmpty)
    }

    @Test
    func `the handler of a reply that blocks is told`() throws {
        let stage = try Stage()
        let scheduler = stage.scheduler
        try stage.connection.perform(
            Command(.request, event: "question", payload: .empty) { _ in scheduler.drag(.milliseconds(150)) })
        scheduler.base.settle()
        let id = try #require(stage.transport.sent.last?.requestID)
        stage.peer.reply(id)
        scheduler.base.settle()
        #expect(stage.log.lines.map { $0.metadata["event"]?.description } == ["(a reply)"])
    }

    @Test
    func `a listener that blocks with messages that were held for it is told`() throws {
        let stage = try Stage(hearsAll: false)
        stage.hear("held", milliseconds: 60)
        stage.hear("held", milliseconds: 60)
        #expect(stage.log.lines.isEmpty)
        let scheduler = stage.scheduler
        let listener = try stage.connection.on("held") { _ in scheduler.drag(.milliseconds(60)) }
        scheduler.base.settle()
        #expect(stage.log.lines.map { $0.metadata["event"]?.description } == ["held"])
        listener.cancel()
    }
}

/// A virtual clock that listeners can hold up.
private final class DraggingScheduler: Scheduler {
    let base = VirtualScheduler()
    private let dragged = Lock(Duration.zero)

    var now: ContinuousClock.Instant { self.base.now + self.dragged.withLock { $0 } }

    func drag(_ time: Duration) { self.dragged.withLock { $0 += time } }

    func schedule(
        at instant: ContinuousClock.Instant, on executor: (any JobExecutor)?, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        self.base.schedule(at: instant - self.dragged.withLock { $0 }, on: executor, work)
    }
}
