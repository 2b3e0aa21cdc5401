@testable import Linkspan
internal import Dispatch
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Draining", .timeLimit(.minutes(1)))
struct DrainTests {
    private let harness = PoolHarness()

    /// Begins to drain, and returns once that has begun.
    private func drain(
        _ handler: ConnectionHandler, within limit: Duration
    ) async throws -> Task<[Command], Never> {
        let task = Task { await handler.drain(within: limit) }
        try await self.begun(handler.connection, self.harness)
        return task
    }

    /// Returns once somebody waits for the outcomes of a connection's commands.
    private func begun(_ connection: PooledConnection, _ harness: PoolHarness) async throws {
        try await eventually("the wait", harness.scheduler) {
            (try? connection.ask { !$0.sender.drains.isEmpty }) == true
        }
    }

    @Test
    func `a question for the commands that is answered leaves no timer behind`() async throws {
        let harness = try Harness.connected()
        let count = harness.scheduler.pendingCount
        let commands = await harness.connection.commands(until: harness.scheduler.moment + .seconds(60))
        #expect(commands?.isEmpty == true && harness.scheduler.pendingCount == count)
    }

    @Test
    func `a drain whose time is up leaves no wait behind`() async throws {
        let (handler, other) = (try self.harness.connect(), try self.harness.connect())
        self.harness.scheduler.settle()
        try handler.perform(Command(.request, event: "a", payload: .empty, timeout: .seconds(86_400)))
        let left = Lock<[String]?>(nil)
        Task {
            let commands = await handler.drain(within: .seconds(5))
            left.withLock { $0 = commands.map(\.event) }
        }
        try await eventually("the end", self.harness.scheduler) {
            // Its timers are set beside the clock.
            self.harness.scheduler.advance(by: .seconds(1))
            return left.withLock { $0 != nil }
        }
        #expect(left.withLock { $0 } == ["a"])
        #expect(try other.connection.ask { $0.sender.drains.isEmpty })
    }

    @Test
    func `5.4 drain: what waits is flushed, replies are awaited, new calls are refused`() async throws {
        let recorder = EventRecorder()
        let handler = try self.harness.connect()
        for (kind, event) in [(.request, "a"), (.deliver(orderingKey: "room"), "b"), (.send, "c")]
            as [(Command.Kind, String)]
        {
            try handler.perform(
                Command(kind, event: event, payload: .empty, completion: recorder.completion(event)))
        }
        let drained = try await self.drain(handler, within: .seconds(5))
        let error = #expect(throws: LinkspanError.self) { try handler.send("late") }
        #expect(error?.code == .released)
        #expect(error?.certainty == .notSent)
        self.harness.scheduler.settle()
        #expect(recorder.endedLabels == ["c"])
        let peer = try #require(self.harness.transport.peers.first)
        for number in 0..<2 as Range<UInt64> { peer.reply(number) }
        self.harness.scheduler.settle()
        #expect(await drained.value.isEmpty)
        #expect(Set(recorder.endedLabels) == ["a", "b", "c"])
        #expect(throws: LinkspanError.self) { try handler.connect() }
    }

    @Test
    func `a shutdown sends first what waits for room on an open link`() async throws {
        let harness = PoolHarness { _ in .init { $0.capacity = 1 } }
        let handler = try harness.connect()
        harness.scheduler.settle()
        for event in ["a", "b", "c"] { try handler.send(event) }
        harness.scheduler.settle()
        #expect(harness.transport.sent.map(\.event) == ["a"])
        let manager = harness.manager
        let shutdown = Task { await manager.shutdown(within: .seconds(10)) }
        try await self.begun(handler.connection, harness)
        for _ in 0..<3 {
            harness.transport.openPeers.first?.read()
            harness.scheduler.settle()
        }
        // Until the next look at what the link has not passed on.
        harness.scheduler.advance(by: .milliseconds(10))
        await harness.scheduler.run { harness.transport.openPeers.isEmpty }
        await shutdown.value
        #expect(harness.transport.sent.map(\.event) == ["a", "b", "c"])
    }

    @Test
    func `after its time it says what is left`() async throws {
        let handler = try self.harness.connect()
        try handler.perform(Command(.request, event: "asked", payload: .empty))
        self.harness.scheduler.settle()
        let timers = self.harness.scheduler.pendingCount
        let drained = try await self.drain(handler, within: .seconds(5))
        // Its limit.
        await self.harness.scheduler.pending(atLeast: timers + 1)
        self.harness.scheduler.advance(by: .seconds(5))
        #expect(await drained.value.map(\.event) == ["asked"])
    }

    @Test
    func `draining waits until sent commands have left`() async throws {
        let harness = PoolHarness { _ in
            var script = LinkScript.perfect
            script.capacity = 10
            return script
        }
        let handler = try harness.connect()
        harness.scheduler.settle()
        try handler.send("gone")
        harness.scheduler.settle()
        let timers = harness.scheduler.pendingCount
        let drained = Task { await handler.drain(within: .seconds(5)) }
        // Its limit, and the next look at the link.
        await harness.scheduler.pending(atLeast: timers + 2)
        harness.scheduler.advance(by: .seconds(4))
        #expect(handler.state == .connected)
        #expect(harness.scheduler.pendingCount >= timers + 2)
        try #require(harness.transport.peers.first).read()
        harness.scheduler.advance(by: .milliseconds(2))
        #expect(await drained.value.isEmpty)
        #expect(handler.state == .released)
        #expect(harness.transport.received.map(\.event) == ["gone"])
    }

    @Test(arguments: [true, false])
    func `a listener that blocks its executor holds up neither a shutdown nor a drain`(isShutdown: Bool) async throws {
        let (isBlocked, goOn, manager) = (Promise<Void>(), DispatchSemaphore(value: 0), ConnectionManager())
        defer { goOn.signal() }
        let (blocked, hub) = (InMemoryHub(), InMemoryHub())
        blocked.onConnect { $0.emit("block", .empty) }
        let handler = try ConnectionBuilder("memory://blocked").transport(.inMemory(blocked)).connect(by: manager)
        let listener = try handler.on("block") { _ in
            isBlocked.fulfill()
            goOn.wait()
        }
        let neighbour = try ConnectionBuilder("memory://other").transport(.inMemory(hub)).connect(by: manager)
        _ = try await neighbour.connected(within: .seconds(30))
        await isBlocked.value
        try handler.send("waits")
        if isShutdown {
            await manager.shutdown(within: .seconds(1))
            #expect(neighbour.state == .released)
        } else {
            _ = await handler.drain(within: .milliseconds(500))
        }
        listener.cancel()
    }

    @Test
    func `with nothing under way it is over at once`() async throws {
        let handler = try self.harness.connect()
        self.harness.scheduler.settle()
        try handler.send("gone")
        #expect(await handler.drain(within: .seconds(5)).isEmpty)
        self.harness.scheduler.advance(by: .seconds(10))
        #expect(self.harness.transport.received.map(\.event) == ["gone"])
    }
}

@Suite("The age of what waits")
struct AgeTests {
    @Test
    func `5.4 backing off to suspended: what has waited for too long ends as not sent, deliveries stay`() throws {
        let harness = try Harness(
            options: { $0.buffer.maxAge = .seconds(120) },
            script: { $0 == 1 ? .dropping(after: .seconds(1)) : .refusing(.lost) })
        harness.transport.onMessage { $0.reply() }
        try harness.enter(.connected)
        try harness.perform(.send, "in time")
        harness.scheduler.advance(by: .seconds(1))
        try harness.perform(.send, "send")
        try harness.perform(.request, "request", timeout: .seconds(3_600))
        try harness.perform(.deliver(orderingKey: "room"), "delivery")
        harness.scheduler.advance(by: .milliseconds(119_999))
        #expect(harness.recorder.endedLabels == ["in time"])
        harness.scheduler.advance(by: .milliseconds(1))
        for event in ["send", "request"] {
            #expect(harness.failure(event)?.code == .timedOut)
            #expect(harness.failure(event)?.certainty == .notSent)
        }
        #expect(try harness.connection.ask { $0.sender.outgoing.listed }.map(\.event) == ["delivery"])
    }

    @Test
    func `a sent command is not aged by its former wait`() throws {
        let harness = try Harness(options: { $0.buffer.maxAge = .seconds(10) }, script: { _ in .perfect })
        try harness.perform(.request, "request", timeout: .seconds(60))
        try harness.enter(.connected)
        harness.scheduler.advance(by: .seconds(59))
        #expect(harness.outcome("request") == nil)
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.failure("request")?.certainty == .unknown)
    }

    @Test
    func `no time at all is refused`() throws {
        let error = #expect(throws: LinkspanError.self) {
            try Harness(options: { $0.buffer.maxAge = .zero }, script: { _ in .perfect })
        }
        #expect(error?.code == .invalidConfiguration)
    }
}
