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
        let log = WarningLog()
        let connection: PooledConnection
        let peer: ScriptedPeer

        init(limit: Duration = .milliseconds(100)) throws {
            let transport = ScriptedTransport(scheduler: self.scheduler.base)
            let log = self.log
            let environment = ConnectionEnvironment(
                scheduler: self.scheduler, random: { 0.5 }, logger: Logger(label: "test") { _ in log }, observer: nil)
            let configuration = try ConnectionBuilder("scripted://server").transport(transport)
                .options { $0.slowListener = limit }.build()
            self.connection = PooledConnection(id: 1, configuration: configuration, environment: environment)
            let scheduler = self.scheduler
            try self.connection.onAny { scheduler.drag(.milliseconds((try? $0.decode(Int.self)) ?? 0)) }
            try self.connection.connect()
            scheduler.base.settle()
            self.peer = try #require(transport.peers.first)
        }

        func hear(_ event: String, milliseconds: Int) {
            self.peer.emit(event, .json("\(milliseconds)"))
            self.scheduler.base.settle()
        }
    }

    @Test
    func `one that blocks its executor beyond the limit is logged once, with event and time`() throws {
        let stage = try Stage()
        stage.hear("quick", milliseconds: 100)
        #expect(stage.log.warnings.isEmpty)
        stage.hear("slow", milliseconds: 150)
        stage.hear("slow", milliseconds: 500)
        stage.hear("other", milliseconds: 101)
        #expect(stage.log.warnings.map(\.event) == ["slow", "other"])
        #expect(stage.log.warnings.first?.time == "0.15 seconds")
    }

    @Test
    func `the limit is an option, and the name of an event cannot forge a line of the log`() throws {
        let stage = try Stage(limit: .milliseconds(10))
        stage.hear("a\nb", milliseconds: 11)
        #expect(stage.log.warnings.map(\.event) == [#"a\u{a}b"#])
    }

    @Test
    func `after a read whose messages took long together, each is timed for itself`() {
        var listeners = SlowListeners(limit: .milliseconds(100))
        #expect(!listeners.timesEach)
        listeners.heardSeveral(in: .milliseconds(100))
        #expect(!listeners.timesEach)
        listeners.heardSeveral(in: .milliseconds(101))
        #expect(listeners.timesEach)
        let told = [listeners.heard("quick", in: .milliseconds(60)), listeners.heard("slow", in: .milliseconds(101))]
        #expect(told == [false, true])
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

private final class WarningLog: LogHandler {
    private let kept = Lock<[(event: String, time: String)]>([])

    var warnings: [(event: String, time: String)] { self.kept.withLock { $0 } }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .warning }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        guard event.level == .warning, let metadata = event.metadata else { return }
        self.kept.withLock { $0.append(("\(metadata["event"] ?? "")", "\(metadata["time"] ?? "")")) }
    }
}
