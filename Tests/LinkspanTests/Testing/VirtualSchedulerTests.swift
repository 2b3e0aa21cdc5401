internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("The virtual scheduler", .timeLimit(.minutes(1)))
struct VirtualSchedulerTests {
    private let scheduler = VirtualScheduler()
    private let recorder = EventRecorder()

    private func note(_ text: String, after seconds: Int) {
        self.scheduler.schedule(after: .seconds(seconds)) { [recorder] in recorder.note(text) }
    }

    @Test
    func `work runs in order of time, and first in, first out at one instant`() {
        for (text, second) in [("c", 2), ("a", 1), ("d", 2), ("b", 1), ("e", 2)] { self.note(text, after: second) }
        self.scheduler.advance(by: .seconds(2))
        #expect(self.recorder.notes == ["a", "b", "c", "d", "e"])
    }

    @Test
    func `no work runs early, and the clock ends where it was advanced to`() {
        self.note("a", after: 2)
        self.scheduler.advance(by: .milliseconds(1_999))
        #expect(self.recorder.notes.isEmpty)
        #expect(self.scheduler.elapsed == .milliseconds(1_999))
        self.scheduler.advance(by: .milliseconds(1))
        #expect(self.recorder.notes == ["a"])
    }

    @Test
    func `work sees its own instant, and what it schedules in the past runs at once`() {
        let (scheduler, recorder) = (self.scheduler, self.recorder)
        scheduler.schedule(after: .seconds(1)) {
            recorder.note("\(scheduler.elapsed)")
            scheduler.schedule(after: .seconds(-5)) { recorder.note("\(scheduler.elapsed)") }
        }
        scheduler.advance(by: .seconds(3))
        #expect(recorder.notes == ["1.0 seconds", "1.0 seconds"])
    }

    @Test
    func `cancelled work does not run`() {
        let work = self.scheduler.schedule(after: .seconds(1)) { [recorder] in recorder.note("never") }
        work.cancel()
        work.cancel()
        #expect(self.scheduler.pendingCount == 0)
        self.scheduler.advance(by: .seconds(2))
        #expect(self.recorder.notes.isEmpty)
    }

    @Test
    func `running until idle ends with the last work or at its limit`() {
        self.note("a", after: 5)
        #expect(self.scheduler.runUntilIdle(limit: .seconds(10)))
        #expect(self.scheduler.elapsed == .seconds(5))
        self.note("b", after: 20)
        #expect(!self.scheduler.runUntilIdle(limit: .seconds(10)))
        #expect(self.recorder.notes == ["a"])
    }

    @Test
    func `a wait for a condition ends with its task`() async {
        let (scheduler, isAsked) = (self.scheduler, Promise<Void>())
        let task = Task {
            await scheduler.run {
                isAsked.fulfill()
                return false
            }
        }
        await isAsked.value
        task.cancel()
        await task.value
    }

    @Test
    func `a seed gives the numbers of SplitMix64`() {
        var generator = SeededGenerator(seed: 1_234_567)
        let numbers = (0..<3).map { _ in generator.next() }
        #expect(numbers == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
    }
}

@Suite("The executor for tests", .timeLimit(.minutes(1)))
struct TestExecutorTests {
    private func connect(_ clock: VirtualScheduler) throws -> (ScriptedTransport, ConnectionHandler) {
        let transport = ScriptedTransport(scheduler: clock)
        transport.onMessage { $0.reply($0.payload) }
        let manager = ConnectionManager(options: .init { $0.scheduler = clock })
        return (
            transport, try ConnectionBuilder("scripted://server").transport(transport).connect(by: manager)
        )
    }

    @Test
    func `callbacks are called while the clock runs, not inside calls, also under a lock of the app`() throws {
        let (clock, app) = (VirtualScheduler(holdsJobs: true), Lock<[String]>([]))
        let (_, connection) = try self.connect(clock)
        connection.onStateChange { change in app.withLock { $0.append("\(change.to)") } }
        connection.onEnd { app.withLock { $0.append("end") } }
        clock.settle()
        // The lock is not recursive: a callback inside the call would wait for it for ever.
        try app.withLock { notes in
            notes.append("call")
            for kind in [Command.Kind.send, .request] {
                try connection.perform(
                    Command(kind, event: "say", payload: .empty) { _ in app.withLock { $0.append("outcome") } })
            }
        }
        clock.settle()
        try app.withLock { notes in
            try connection.disconnect()
            notes.append("disconnect")
        }
        clock.settle()
        app.withLock { notes in
            connection.release()
            notes.append("release")
        }
        clock.settle()
        #expect(
            app.withLock { $0 } == [
                "connected", "call", "outcome", "outcome", "disconnect", "disconnected", "release", "end",
            ])
    }

    @Test
    func `a look at a scripted transport runs what is held`() throws {
        let clock = VirtualScheduler(holdsJobs: true)
        let (transport, connection) = try self.connect(clock)
        clock.settle()
        try connection.send("say", "hello")
        #expect(transport.sent.map(\.event) == ["say"])
        connection.release()
    }

    @Test
    func `a wait for a condition runs what a task brings`() async throws {
        let clock = VirtualScheduler(holdsJobs: true)
        let (transport, connection) = try self.connect(clock)
        async let answer = connection.request("say", 7).decode(Int.self)
        await clock.run { transport.received.count == 1 }
        clock.settle()
        #expect(try await answer == 7)
        connection.release()
    }

    @Test
    func `jobs run at once, or wait for a drain; those of a job run after it`() {
        for holdsJobs in [false, true] {
            let (executor, recorder) = (TestExecutor(holdsJobs: holdsJobs), EventRecorder())
            executor.execute {
                executor.execute { recorder.note("second") }
                executor.drain()
                recorder.note(executor.isCurrent ? "first" : "elsewhere")
            }
            #expect(recorder.notes == (holdsJobs ? [] : ["first", "second"]))
            executor.drain()
            #expect(recorder.notes == ["first", "second"])
            #expect(!executor.isCurrent)
        }
    }
}
