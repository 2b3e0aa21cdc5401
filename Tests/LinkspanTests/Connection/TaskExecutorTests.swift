internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@testable import Linkspan

/// Tasks and actors on a connection's executor; also with real threads, for the thread sanitizer.
@Suite("Tasks on the executor", .timeLimit(.minutes(1)))
struct TaskExecutorTests {
    /// A connection to a hub that has news and a reply for everything but "silence".
    private struct Place {
        let hub: InMemoryHub
        let manager = ConnectionManager()
        let handler: ConnectionHandler

        init(on executor: any JobExecutor = SystemScheduler.makeExecutor(label: "place")) async throws {
            self.hub = Self.hub(on: executor)
            self.handler = try await ConnectionBuilder("memory://place").transport(.inMemory(self.hub))
                .connect(by: self.manager).connected(within: .seconds(30))
        }

        static func hub(on executor: any JobExecutor) -> InMemoryHub {
            let hub = InMemoryHub(executor: executor)
            hub.onConnect { peer in
                peer.onOther { message in
                    guard message.event != "silence" else { return }
                    peer.emit("news", .empty)
                    message.reply(message.payload)
                }
            }
            return hub
        }

        var isCurrent: Bool { self.hub.executor.isCurrent }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `replies are awaited without leaving the executor, for as many jobs as callbacks take`() async throws {
        let executor = CountingExecutor()
        let place = try await Place(on: executor)
        let handler = place.handler
        let before = executor.jobs
        await withCheckedContinuation { done in Self.callBack(handler, left: 100) { done.resume() } }
        let callbacks = executor.jobs - before
        let isElsewhere = try await Task(executorPreference: handler.executor) {
            var isElsewhere = !executor.isCurrent
            for number in 0..<100 {
                let reply = try await handler.request("ask", number)
                isElsewhere = isElsewhere || !executor.isCurrent || reply[0]?.int != number
            }
            return isElsewhere
        }.value
        #expect(!isElsewhere)
        // The task begins and ends with jobs of its own.
        #expect(executor.jobs - before - callbacks <= callbacks + 4)
        await place.manager.shutdown()
    }

    private static func callBack(_ handler: ConnectionHandler, left: Int, _ done: @escaping @Sendable () -> Void) {
        guard left > 0 else { return done() }
        let command = Command(.request, event: "ask", payload: .empty) { _ in
            Self.callBack(handler, left: left - 1, done)
        }
        try? handler.perform(command)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: ["yields", "sends"])
    func `a task that goes on and on leaves the loop its time`(chore: String) async throws {
        let place = try await Place()
        let (handler, executor, hasTime) = (place.handler, place.hub.executor, Lock(false))
        let rounds = await Task(executorPreference: handler.executor) {
            executor.execute { hasTime.withLock { $0 = true } }
            for round in 0..<100 {
                if hasTime.withLock({ $0 }) { return round }
                if chore == "yields" { await Task.yield() } else { try? await handler.send("note", timeout: nil) }
            }
            return 100
        }.value
        #expect(rounds < 100)
        await place.manager.shutdown()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a task that is cancelled goes on there with its error`() async throws {
        let place = try await Place()
        let (handler, executor) = (place.handler, place.hub.executor)
        let task = Task(executorPreference: handler.executor) {
            do throws(LinkspanError) {
                _ = try await handler.request("silence", timeout: .seconds(600))
                return LinkspanError.Code?.none
            } catch {
                return executor.isCurrent ? error.code : nil
            }
        }
        try await eventually { await handler.commands.count == 1 }
        task.cancel()
        #expect(await task.value == .cancelled)
        await place.manager.shutdown()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a task goes on when it has awaited the end of its connection, and begins after that`() async throws {
        let harness = PoolHarness()
        let handler = try harness.connect()
        harness.scheduler.settle()
        let (executor, isOver) = (harness.scheduler.executor, Lock(false))
        let ended = Task(executorPreference: handler.executor) {
            let left = await handler.drain(within: .seconds(30))
            await harness.manager.shutdown()
            isOver.withLock { $0 = true }
            return left.isEmpty && executor.isCurrent
        }
        // The clock stands still: no time limit ends a wait.
        await harness.scheduler.run { isOver.withLock { $0 } }
        try #require(isOver.withLock { $0 })
        #expect(await ended.value)
        let code = await Task(executorPreference: handler.executor) {
            do throws(LinkspanError) {
                _ = try await handler.request("ask")
                return LinkspanError.Code?.none
            } catch {
                return executor.isCurrent ? error.code : nil
            }
        }.value
        #expect(code == .released)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a job runs neither inside a listener nor inside a call of another job`() async throws {
        let place = try await Place()
        let (handler, recorder) = (place.handler, EventRecorder())
        let awaited = Promise<Void>()
        let command = Command(.request, event: "ask", payload: .empty) { _ in
            recorder.note("callback")
            awaited.fulfill()
            recorder.note("callback ends")
        }
        try await Task(executorPreference: handler.executor) {
            try handler.perform(command)
            await awaited.value
            recorder.note("first job")
            let other = Task(executorPreference: handler.executor) { recorder.note("second job") }
            // Takes what has arrived from other threads before it returns.
            try handler.reconnectNow()
            recorder.note("first job ends")
            await other.value
        }.value
        #expect(recorder.notes == ["callback", "callback ends", "first job", "first job ends", "second job"])
        await place.manager.shutdown()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `under a virtual clock a task runs with the clock's jobs`() async throws {
        let harness = PoolHarness()
        harness.transport.onMessage { message in
            harness.scheduler.schedule(after: .seconds(1)) { message.reply(message.payload) }
        }
        let handler = try harness.connect()
        harness.scheduler.settle()
        let executor = harness.scheduler.executor
        let task = Task(executorPreference: handler.executor) {
            _ = try await handler.request("ask")
            return executor.isCurrent
        }
        await harness.scheduler.run { !harness.transport.received.isEmpty }
        harness.scheduler.advance(by: .seconds(1))
        #expect(try await task.value)
        handler.release()
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `tasks and actors follow a connection that moves, and an actor is never in two places`() async throws {
        let place = try await Place()
        let (handler, manager) = (place.handler, place.manager)
        let board = Board(handler)
        try await board.follow()
        let hubs = [Place.hub(on: SystemScheduler.makeExecutor(label: "other")), place.hub]
        try await withThrowingTaskGroup { group in
            for _ in 0..<3 {
                group.addTask { for _ in 0..<200 { await board.step() } }
                group.addTask(executorPreference: handler.executor) {
                    for _ in 0..<50 {
                        _ = try? await handler.request("ask", timeout: .seconds(30))
                        #expect(hubs.contains { $0.executor.isCurrent })
                        await board.step()
                    }
                }
            }
            for number in 0..<20 {
                let hub = hubs[number % 2]
                let next = try ConnectionBuilder("memory://place\(number % 2)").transport(.inMemory(hub)).build()
                try await eventually { (try? manager.move(handler, to: next)) == true }
                _ = try await handler.connected(within: .seconds(30))
                let current = Task(executorPreference: handler.executor) { hub.executor.isCurrent }
                #expect(await current.value)
            }
            try await group.waitForAll()
        }
        #expect(await board.overlaps == 0)
        #expect(await board.heard > 0)
        await manager.shutdown()
    }

    /// An actor on a connection's executor.
    private actor Board {
        private let handler: ConnectionHandler
        nonisolated var unownedExecutor: UnownedSerialExecutor { self.handler.unownedExecutor }
        private nonisolated let isInside = Lock(false)
        private(set) var overlaps = 0
        private(set) var heard = 0

        init(_ handler: ConnectionHandler) { self.handler = handler }

        func follow() throws {
            try self.handler.on("news") { [weak self] _ in self?.assumeIsolated { $0.hear() } }
        }

        private func hear() {
            self.step()
            self.heard += 1
        }

        func step() {
            let wasInside = self.isInside.withLock { isInside in
                defer { isInside = true }
                return isInside
            }
            if wasInside { self.overlaps += 1 }
            self.isInside.withLock { $0 = false }
        }
    }
}

/// An executor that counts its jobs.
private final class CountingExecutor: JobExecutor {
    private let base = SystemScheduler.makeExecutor(label: "counted")
    private let count = Counter()

    var jobs: Int { self.count.value }
    var isCurrent: Bool { self.base.isCurrent }

    func execute(_ job: @escaping @Sendable () -> Void) {
        self.count.increment()
        self.base.execute(job)
    }
}
