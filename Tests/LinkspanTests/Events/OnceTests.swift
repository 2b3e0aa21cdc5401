@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

extension Event where Value == Int, Reply == NoReply {
    fileprivate static var number: Self { Event("number") }
}

@Suite("Listening once", .timeLimit(.minutes(1)))
struct OnceTests {
    private func message(_ number: Int) -> Message { Message(event: "number", payload: .json("\(number)")) }

    private func emit(_ harness: Harness, _ numbers: some Sequence<Int>) {
        for number in numbers { harness.peers.last?.emit("number", .json("\(number)")) }
        harness.scheduler.settle()
    }

    // MARK: One message

    @Test
    func `one message comes, and no other`() throws {
        let harness = try Harness.connected()
        try harness.connection.once("number") { harness.recorder.note($0.payload.text) }
        self.emit(harness, 1...3)
        #expect(harness.recorder.notes == ["1"])
    }

    @Test
    func `a typed key brings a value, or an error for another shape`() throws {
        let harness = try Harness.connected()
        try harness.connection.once(.number) { harness.recorder.note("\((try? $0.get()) ?? -1)") }
        self.emit(harness, 1...2)
        try harness.connection.once(.number) { harness.recorder.note("\((try? $0.get()) ?? -1)") }
        // The second message was held for it.
        #expect(harness.recorder.notes == ["1", "2"])
        try harness.connection.once(.number) { value in
            guard case .failure(let error) = value else { return }
            harness.recorder.note(error.code.rawValue)
        }
        harness.peers.last?.emit("number", .json("\"two\""))
        harness.scheduler.settle()
        #expect(harness.recorder.notes == ["1", "2", "decodingFailed"])
    }

    @Test
    func `it takes the oldest that is held and leaves the rest to the next listener`() throws {
        let harness = try Harness.connected()
        self.emit(harness, 1...4)
        try harness.connection.once("number") { harness.recorder.note("once \($0.payload.text)") }
        try harness.connection.once("number") { harness.recorder.note("again \($0.payload.text)") }
        try harness.connection.on("number") { harness.recorder.note($0.payload.text) }
        self.emit(harness, [5])
        #expect(harness.recorder.notes == ["once 1", "again 2", "3", "4", "5"])
    }

    @Test
    func `what comes behind it is held whether or not it came before the call`() throws {
        for early in 0...2 {
            let harness = try Harness.connected()
            self.emit(harness, (0..<early).map { $0 })
            try harness.connection.once("number") { harness.recorder.note("once \($0.payload.text)") }
            self.emit(harness, early..<3)
            try harness.connection.on("number") { harness.recorder.note($0.payload.text) }
            #expect(harness.recorder.notes == ["once 0", "1", "2"])
        }
    }

    @Test
    func `beside a lasting listener nothing is held`() throws {
        let harness = try Harness.connected()
        let lasting = try harness.connection.on("number") { harness.recorder.note($0.payload.text) }
        try harness.connection.once("number") { harness.recorder.note("once \($0.payload.text)") }
        self.emit(harness, 1...2)
        lasting.cancel()
        self.emit(harness, [3])
        try harness.connection.on("number") { harness.recorder.note($0.payload.text) }
        #expect(harness.recorder.notes == ["1", "once 1", "2"])
    }

    @Test
    func `cancelled before its message it hears nothing, not even in the same round`() throws {
        let harness = try Harness.connected()
        let early = try harness.connection.once("number") { _ in harness.recorder.note("early") }
        early.cancel()
        let later = Later()
        try harness.connection.on("number") { _ in later.cancel() }
        later.subscription = try harness.connection.once("number") { _ in harness.recorder.note("late") }
        self.emit(harness, 1...2)
        #expect(harness.recorder.notes == [])
    }

    @Test
    func `a listener that comes while held messages are handed over gets the next one`() {
        let router = EventRouter()
        let recorder = EventRecorder()
        for number in 1...2 { router.route(self.message(number)) }
        _ = router.add(event: "number") { message in
            recorder.note(message.payload.text)
            guard message.payload.text == "1" else { return }
            _ = router.addOnce(event: "number") { recorder.note("once \($0.payload.text)") }
            for number in 3...4 { router.route(self.message(number)) }
        }
        #expect(recorder.notes == ["1", "2", "3", "once 3", "4"])
    }

    @Test
    func `nothing of it stays behind`() throws {
        let witness = Witness()
        let harness = PoolHarness()
        let handler = try harness.connect()
        harness.scheduler.settle()
        try handler.once("number") { [held = Held(witness)] _ in held.touch() }
        try handler.once("other") { [held = Held(witness)] _ in held.touch() }
        #expect(handler.subscriptionCount == 2)
        harness.transport.peers.first?.emit("number")
        harness.scheduler.settle()
        #expect(handler.subscriptionCount == 1)
        #expect(witness.count == 1)
        handler.release()
        #expect(witness.count == 0)
    }

    @Test
    func `exactly one message each, whatever the threads do`() async {
        for round in 0..<40 {
            let router = EventRouter()
            let heard = Lock<[Int: [Int]]>([:])
            let emitted = 200
            await withDiscardingTaskGroup { group in
                for thread in 0..<2 {
                    group.addTask {
                        for number in 0..<emitted / 2 { router.route(self.message(thread * emitted + number)) }
                    }
                }
                for listener in 0..<4 {
                    group.addTask {
                        for turn in 0..<25 {
                            let key = listener * 25 + turn
                            _ = router.addOnce(event: "number") { message in
                                let number = message.payload[0]?.int ?? -1
                                heard.withLock { $0[key, default: []].append(number) }
                            }
                        }
                    }
                }
            }
            let counts = heard.withLock { $0 }
            #expect(counts.count == 100, "round \(round)")
            #expect(counts.values.allSatisfy { $0.count == 1 }, "round \(round)")
        }
    }

    @Test
    func `what one listener took and what was held make up what was sent`() async {
        for _ in 0..<40 {
            let router = EventRouter()
            let taken = Lock<[Int]>([])
            await withDiscardingTaskGroup { group in
                group.addTask { for number in 0..<100 { router.route(self.message(number)) } }
                group.addTask {
                    for _ in 0..<20 {
                        let heard = Lock(false)
                        let subscription = router.addOnce(event: "number") { message in
                            heard.withLock { $0 = true }
                            taken.withLock { $0.append(message.payload[0]?.int ?? -1) }
                        }
                        while !heard.withLock({ $0 }) { await Task.yield() }
                        subscription.cancel()
                    }
                }
            }
            #expect(taken.withLock { $0 } == Array(0..<20), "each call takes the next, none is skipped")
            _ = router.add(event: "number") { message in
                taken.withLock { $0.append(message.payload[0]?.int ?? -1) }
            }
            #expect(taken.withLock { $0 } == Array(0..<100))
        }
    }
}

// MARK: - Waiting for a message

@Suite("Waiting for the next message", .timeLimit(.minutes(1)))
struct NextTests {
    /// Waits in the background until the wait is registered.
    private func begin<Value: Sendable>(
        _ harness: PoolHarness, _ wait: @escaping @Sendable () async throws -> Value
    ) async -> Task<Value, any Error> {
        let pending = harness.scheduler.pendingCount
        let task = Task { try await wait() }
        while harness.scheduler.pendingCount == pending { await Task.yield() }
        return task
    }

    private func connected() throws -> (PoolHarness, ConnectionHandler) {
        let harness = PoolHarness()
        let handler = try harness.connect()
        harness.scheduler.settle()
        return (harness, handler)
    }

    private func code(of task: Task<some Sendable, any Error>) async -> LinkspanError.Code? {
        do {
            _ = try await task.value
            return nil
        } catch {
            return (error as? LinkspanError)?.code
        }
    }

    @Test
    func `it is the next message, and a loop misses none`() async throws {
        let (harness, handler) = try self.connected()
        for number in 1...3 { harness.transport.peers.first?.emit("number", .json("\(number)")) }
        harness.scheduler.settle()
        for number in 1...3 { #expect(try await handler.next(.number) == number) }
        let task = await self.begin(harness) { try await handler.next("number", timeout: .seconds(60)) }
        harness.transport.peers.first?.emit("number", .json("4"))
        harness.scheduler.settle()
        #expect(try await task.value.payload.text == "4")
        #expect(handler.subscriptionCount == 0)
    }

    @Test
    func `in time or not at all`() async throws {
        let (harness, handler) = try self.connected()
        let task = await self.begin(harness) { try await handler.next(.number, timeout: .seconds(2)) }
        harness.scheduler.advance(by: .seconds(2))
        #expect(await self.code(of: task) == .timedOut)
        #expect(handler.subscriptionCount == 0)
    }

    @Test
    func `it ends with its task, with off, with the handler and with the connection`() async throws {
        let (harness, handler) = try self.connected()
        let ofTask = await self.begin(harness) { try await handler.next("number", timeout: .seconds(60)) }
        ofTask.cancel()
        #expect(await self.code(of: ofTask) == .cancelled)
        let taken = await self.begin(harness) { try await handler.next("number", timeout: .seconds(60)) }
        handler.off("number")
        #expect(await self.code(of: taken) == .cancelled)

        let other = try harness.connect()
        let ofHandler = await self.begin(harness) { try await other.next("number", timeout: .seconds(60)) }
        other.release()
        #expect(await self.code(of: ofHandler) == .released)

        let ofConnection = await self.begin(harness) { try await handler.next("number", timeout: .seconds(60)) }
        let stopped = Task { await harness.manager.shutdown() }
        #expect(await self.code(of: ofConnection) == .released)
        harness.scheduler.advance(by: .seconds(10))
        await stopped.value
    }

    @Test
    func `a value of another shape is an error`() async throws {
        let (harness, handler) = try self.connected()
        harness.transport.peers.first?.emit("number", .json("\"one\""))
        harness.scheduler.settle()
        let error = await #expect(throws: LinkspanError.self) { try await handler.next(.number) }
        #expect(error?.code == .decodingFailed)
    }
}

// MARK: - Leaving

@Suite("Taking listeners off", .timeLimit(.minutes(1)))
struct OffTests {
    @Test
    func `off ends what this handler registered for the event, and nothing else`() async throws {
        let harness = PoolHarness()
        let (one, other) = (try harness.connect(), try harness.connect())
        harness.scheduler.settle()
        let recorder = EventRecorder()
        try one.on("number") { _ in recorder.note("one") }
        try one.once("number") { _ in recorder.note("once") }
        try one.onAny { _ in recorder.note("any") }
        try one.on("word") { _ in recorder.note("word") }
        let stream = try one.events("number")
        try other.on("number") { _ in recorder.note("other") }
        one.off(.number)
        for event in ["number", "word"] { harness.transport.peers.first?.emit(event) }
        harness.scheduler.settle()
        #expect(recorder.notes == ["any", "other", "any", "word"])
        var iterator = stream.makeAsyncIterator()
        #expect(await iterator.next() == nil, "the stream ended, and did not see what came later")
        #expect(one.subscriptionCount == 2)
    }

    @Test
    func `the end is told once: at the handler's release, the connection's, or at once`() throws {
        let harness = PoolHarness()
        let (one, other) = (try harness.connect(), try harness.connect())
        let recorder = EventRecorder()
        one.onEnd { recorder.note("one") }
        one.onEnd { recorder.note("never") }.cancel()
        other.onEnd { recorder.note("other") }
        one.release()
        #expect(recorder.notes == ["one"])
        _ = one.onEnd { recorder.note("at once") }
        #expect(recorder.notes == ["one", "at once"])
        let connection = try #require(other.connection as? PooledConnection)
        _ = connection.onEnd { recorder.note("connection") }
        connection.retire()
        try connection.release()
        #expect(recorder.notes == ["one", "at once", "other", "connection"])
        other.release()
        #expect(recorder.notes.count == 4)
    }
}
