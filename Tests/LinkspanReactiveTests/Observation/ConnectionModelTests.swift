internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanReactive
internal import LinkspanTesting
internal import Observation
internal import TestSupport
internal import Testing

@Suite("The observable model", .timeLimit(.minutes(1)))
@MainActor
struct ConnectionModelTests {
    let hub = InMemoryHub(executor: TestExecutor())
    let scheduler = VirtualScheduler()
    let manager: ConnectionManager

    init() {
        self.manager = ConnectionManager(
            options: .init { [scheduler = self.scheduler] in
                $0.scheduler = scheduler
                $0.random = { 0.5 }
            })
    }

    private func connect() throws(LinkspanError) -> ConnectionHandler {
        try ConnectionBuilder("memory://lobby").transport(.inMemory(self.hub)).connect(by: self.manager)
    }

    /// From another thread than the main one, as a network does.
    private func elsewhere(_ body: @escaping @Sendable () -> Void) async { await Task.detached(operation: body).value }

    /// Ends with the next change of what `value` reads, as a view is told.
    private func change<Value>(of value: () -> Value) -> AsyncStream<Void> {
        let (stream, end) = AsyncStream.makeStream(of: Void.self)
        withObservationTracking {
            _ = value()
        } onChange: {
            end.finish()
        }
        return stream
    }

    private func wait(for change: AsyncStream<Void>) async { for await _ in change {} }

    @Test
    func `it begins with the present, and its views hear of each property that changes`() async throws {
        let model = ConnectionModel(try self.connect())
        #expect(model.state == .connected)
        #expect(model.progress == .open)
        #expect(model.lastError == nil)
        let state = self.change { model.state }
        await self.elsewhere { [hub] in hub.cut(LinkspanError(.connectionLost, "pulled")) }
        await self.wait(for: state)
        #expect(model.state == .reconnecting)
        #expect(model.lastError?.message == "pulled")
        if case .waiting = model.progress {} else { Issue.record("it waits before the next attempt") }
        let back = self.change { model.state }
        await self.elsewhere { [hub, scheduler] in
            hub.restore()
            scheduler.advance(by: .seconds(5))
        }
        await self.wait(for: back)
        #expect(model.state == .connected)
        #expect(model.lastError == nil)
    }

    @Test
    func `the waiting count follows within the interval, and equal values wake nobody`() async throws {
        let connection = try self.connect()
        let model = ConnectionModel(connection, figuresEvery: .milliseconds(200))
        let down = self.change { model.state }
        await self.elsewhere { [hub] in hub.cut() }
        await self.wait(for: down)
        try connection.send("a")
        try connection.send("b")
        let waiting = self.change { model.waitingCommands }
        await self.elsewhere { [scheduler] in scheduler.advance(by: .milliseconds(200)) }
        await self.wait(for: waiting)
        #expect(model.waitingCommands == 2)
        let (told, wake) = AsyncStream.makeStream(of: Void.self)
        withObservationTracking {
            _ = (model.state, model.progress, model.lastError)
        } onChange: {
            wake.yield()
        }
        try connection.send("c")
        let more = self.change { model.waitingCommands }
        await self.elsewhere { [scheduler] in scheduler.advance(by: .milliseconds(200)) }
        await self.wait(for: more)
        #expect(model.waitingCommands == 3)
        wake.finish()
        for await _ in told { Issue.record("it was told of a state that stayed the same") }
    }

    @Test
    func `an actor has a model of its own`() async throws {
        let feature = Feature()
        await feature.follow(try self.connect())
        await self.elsewhere { [hub] in hub.cut() }
        try await eventually { await feature.state == .reconnecting }
    }

    @Test
    func `an actor goes with its last reference, though its model follows a connection, which goes too`() async throws {
        var feature: Feature? = Feature()
        weak let weakFeature = feature
        await feature?.follow(try self.connect())
        // Its task has begun to wait, and has been through a change.
        await self.elsewhere { [hub] in hub.cut() }
        try await eventually { await feature?.state == .reconnecting }
        feature = nil
        try await eventually { weakFeature == nil }
        try await eventually { self.manager.statistics.allSatisfy { $0.holders == 0 } }
    }

    @Test
    func `the model goes with its last reference, and the connection with it`() async throws {
        var connection: ConnectionHandler? = try self.connect()
        weak let weakConnection = connection
        var model: ConnectionModel? = connection.map { ConnectionModel($0) }
        weak let weakModel = model
        connection = nil
        #expect(weakConnection != nil, "the model keeps it")
        // Its task has begun to wait, and has been through a change.
        let down = self.change { model?.state }
        await self.elsewhere { [hub] in hub.cut() }
        await self.wait(for: down)
        model = nil
        #expect(weakModel == nil)
        #expect(weakConnection == nil)
        // Nothing of it is left behind: the last look is over, and the idle connection is closed.
        self.scheduler.advance(by: .seconds(60))
        #expect(self.manager.statistics.isEmpty)
    }

    @Test
    func `a model that has gone leaves no timer behind with a connection that is kept`() throws {
        let connection = try self.connect()
        let timers = self.scheduler.pendingCount
        var model: ConnectionModel? = ConnectionModel(connection)
        self.scheduler.advance(by: .seconds(2))
        #expect(model?.state == .connected)
        #expect(self.scheduler.pendingCount == timers + 1)
        model = nil
        self.scheduler.advance(by: .seconds(2))
        #expect(self.scheduler.pendingCount == timers)
        #expect(connection.state == .connected)
    }

    @Test
    func `the release is told, and nothing behind it`() async throws {
        let connection = try self.connect()
        let model = ConnectionModel(connection)
        let released = self.change { model.state }
        connection.release()
        await self.wait(for: released)
        #expect(model.state == .released)
        let timers = self.scheduler.pendingCount
        self.scheduler.advance(by: .seconds(1))
        #expect(self.scheduler.pendingCount < timers, "it is not looked at any more")
    }
}

private actor Feature {
    private var model: ConnectionModel?

    var state: ConnectionState? { self.model?.state }

    func follow(_ connection: ConnectionHandler) { self.model = ConnectionModel(connection) }
}
