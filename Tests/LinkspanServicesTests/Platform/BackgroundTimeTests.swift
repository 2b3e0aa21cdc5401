internal import Linkspan
internal import LinkspanLifecycle
@testable import LinkspanServices
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Time in the background", .timeLimit(.minutes(1)))
struct BackgroundTimeTests {
    @Test
    func `time is asked for while commands wait, and given back when none waits any more`() async throws {
        let app = try await App()
        app.connection.waiting.withLock { $0 = 2 }
        app.emit(.didEnterBackground(grace: nil))
        #expect(await app.time.next() == "begin")
        app.connection.waiting.withLock { $0 = 0 }
        #expect(await app.time.next() == "end")
        await app.stop()
    }

    @Test
    func `no time is asked for when nothing waits`() async throws {
        let app = try await App()
        app.emit(.didEnterBackground(grace: nil))
        await app.connection.look()
        app.connection.waiting.withLock { $0 = 1 }
        app.emit(.didEnterBackground(grace: nil))
        #expect(await app.time.next() == "begin")
        app.connection.waiting.withLock { $0 = 0 }
        #expect(await app.time.next() == "end")
        await app.stop()
        #expect(await app.time.next() == nil, "the first time nothing waited")
    }

    @Test
    func `time is given back when the app is in front again`() async throws {
        let app = try await App()
        app.connection.waiting.withLock { $0 = 1 }
        app.emit(.didEnterBackground(grace: nil))
        #expect(await app.time.next() == "begin")
        app.emit(.willEnterForeground(away: nil))
        #expect(await app.time.next() == "end")
        await app.stop()
    }

    @Test
    func `time that is over is given back`() async throws {
        let app = try await App()
        app.connection.waiting.withLock { $0 = 1 }
        app.emit(.didEnterBackground(grace: nil))
        #expect(await app.time.next() == "begin")
        app.time.expire()
        #expect(await app.time.next() == "end")
        await app.stop()
    }

    @Test
    func `time is taken once at a time, and given back once, at the latest at the end`() async throws {
        let app = try await App()
        app.connection.waiting.withLock { $0 = 1 }
        let phases: [AppEvent] = [
            .didEnterBackground(grace: nil), .didEnterBackground(grace: nil), .willEnterForeground(away: nil),
            .didBecomeActive, .didEnterBackground(grace: nil),
        ]
        for phase in phases { await app.registry.barrier(phase) }
        for step in ["begin", "end", "begin"] { #expect(await app.time.next() == step) }
        await app.stop()
        #expect(await app.time.next() == "end")
        #expect(await app.time.next() == nil)
    }

    @Test
    func `no more time is taken than the limit`() async throws {
        let clock = VirtualScheduler()
        let app = try await App(limit: BackgroundTimeService.period * 2, clock: clock)
        app.connection.waiting.withLock { $0 = 1 }
        app.emit(.didEnterBackground(grace: nil))
        #expect(await app.time.next() == "begin")
        for _ in 1...2 {
            await clock.pending(atLeast: 1)
            clock.settle()
            #expect(clock.pendingCount == 1, "it looks again after a while, and not at once")
            clock.advance(by: BackgroundTimeService.period)
        }
        #expect(await app.time.next() == "end")
        #expect(clock.elapsed == BackgroundTimeService.period * 2 && clock.pendingCount == 0)
        await app.stop()
    }
}

/// A registry with the service, whose connection and system are the test's.
private struct App {
    let registry = ServiceRegistry(name: "app")
    let time = TestedTime()
    let connection: WaitingConnection

    init(limit: Duration = .seconds(25), clock: any Scheduler = SystemScheduler.shared) async throws {
        self.connection = try WaitingConnection(clock)
        let service = BackgroundTimeService(limit: limit, time: self.time.begin)
        try service.use(self.connection)
        try self.registry.register(service).keep()
        _ = try await self.registry.start()
    }

    func emit(_ event: AppEvent) { self.registry.emit(event) }

    func stop() async {
        _ = await self.registry.stop()
        self.time.finish()
    }
}

/// Writes down when time is asked for and given back.
private struct TestedTime: Sendable {
    private let steps: AsyncStream<String>
    private let step: AsyncStream<String>.Continuation
    private let onExpiry = Lock<(@Sendable () -> Void)?>(nil)

    init() { (self.steps, self.step) = AsyncStream.makeStream() }

    @Sendable func begin(_ onExpiry: @escaping @Sendable () -> Void) async -> (@Sendable () async -> Void)? {
        self.onExpiry.withLock { $0 = onExpiry }
        self.step.yield("begin")
        return { [step] in step.yield("end") }
    }

    func expire() { self.onExpiry.withLock { $0 }?() }
    func finish() { self.step.finish() }

    func next() async -> String? {
        var iterator = self.steps.makeAsyncIterator()
        return await iterator.next()
    }
}

/// A connection with as many waiting commands as the test says.
private final class WaitingConnection: Connection {
    let waiting = Lock(0)
    let scheduler: any Scheduler
    private let url: ConnectionURL
    private let looks: AsyncStream<Void>
    private let onLook: AsyncStream<Void>.Continuation

    init(_ clock: any Scheduler) throws {
        self.scheduler = clock
        self.url = try ConnectionURL("fake://server")
        (self.looks, self.onLook) = AsyncStream.makeStream()
    }

    var status: ConnectionStatus {
        var status = ConnectionStatus(url: self.url, state: .connected)
        status.waitingCommands = self.waiting.withLock { $0 }
        self.onLook.yield()
        return status
    }

    /// Waits until somebody has looked.
    func look() async {
        var iterator = self.looks.makeAsyncIterator()
        await iterator.next()
    }

    func perform(_ command: Command) throws(LinkspanError) {}
    func cancel(_ id: Command.ID) {}
    func subscribe(
        to event: String?, once: Bool, onMark: (@Sendable (Continuity) -> Void)?,
        _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription { Subscription {} }
    func onStatusChange(_ handler: @escaping @Sendable (StatusChange) -> Void) -> Subscription { Subscription {} }
    func connect() throws(LinkspanError) {}
    func disconnect() throws(LinkspanError) {}
}
