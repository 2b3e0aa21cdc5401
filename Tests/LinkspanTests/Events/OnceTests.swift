@testable import Linkspan
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
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
    func `later messages are held, whether they arrived before or after the call`() throws {
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
        let router = RouterDriver()
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
    func `cancelled in the callback that made it, it takes no held message`() throws {
        let harness = try Harness.connected()
        self.emit(harness, [1])
        try harness.connection.on("go") { _ in
            let late = try? harness.connection.once("number") { _ in harness.recorder.note("late") }
            late?.cancel()
        }
        harness.peers.first?.emit("go")
        harness.scheduler.settle()
        try harness.connection.on("number") { harness.recorder.note($0.payload.text) }
        #expect(harness.recorder.notes == ["1"])
    }

    // MARK: Marks

    @Test
    func `a gap before the message that it takes is told to the next listener`() async throws {
        let harness = try Harness.connected()
        self.emit(harness, 1...1_025)
        try harness.connection.once("number") { harness.recorder.note($0.payload.text) }
        #expect(harness.recorder.notes == ["2"])
        var items = try harness.connection.events("number").items.makeAsyncIterator()
        #expect(await items.next()?.text == "gap 1")
        #expect(await items.next()?.text == "3")
    }

    @Test
    func `with a handler for marks it is told the gap before its message, and the next listener is not`() {
        let router = RouterDriver(limits: .init(messages: 2, bytes: 1_000))
        let recorder = EventRecorder()
        for number in 1...3 { router.route(self.message(number)) }
        _ = router.addOnce(
            event: "number", onMark: { recorder.note("once \(EventItem<Message>.continuity($0).text)") },
            { recorder.note("once \($0.payload.text)") })
        _ = router.addForItems(event: "number") { recorder.note($0.text) }
        #expect(recorder.notes == ["once gap 1", "once 2", "3"])
    }

    @Test
    func `with a handler for marks it is told a gap without messages, and each mark until its message comes`() {
        let router = RouterDriver(limits: .init(messages: 1, bytes: 1_000))
        let recorder = EventRecorder()
        router.route(self.message(1))
        router.route(Message(event: "other", payload: .empty))
        for name in ["a", "b"] {
            _ = router.addOnce(
                event: "number", onMark: { recorder.note("\(name) \(EventItem<Message>.continuity($0).text)") },
                { recorder.note("\(name) \($0.payload.text)") })
        }
        router.router.route(Continuity.gap(.reconnected))
        router.route(self.message(2))
        #expect(recorder.notes == ["a gap 1", "a gap reconnected", "b gap reconnected", "a 2", "b 2"])
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

    /// A connection that is up, over a hub with an executor of its own.
    private func live(_ manager: ConnectionManager) async throws -> (hub: InMemoryHub, handler: ConnectionHandler) {
        let hub = InMemoryHub()
        let handler = try ConnectionBuilder("memory://once").transport(.inMemory(hub)).connect(by: manager)
        for await change in handler.stateChanges where change.to == .connected { break }
        return (hub, handler)
    }

    @Test
    func `exactly one message each, whatever the threads do`() async throws {
        for round in 0..<40 {
            let manager = ConnectionManager()
            let (hub, handler) = try await self.live(manager)
            let heard = Lock<[Int: [Int]]>([:])
            let emitted = 200
            await withDiscardingTaskGroup { group in
                for thread in 0..<2 {
                    group.addTask {
                        for number in 0..<emitted / 2 { hub.emit("number", .json("\(thread * emitted + number)")) }
                    }
                }
                for listener in 0..<4 {
                    group.addTask {
                        for turn in 0..<25 {
                            let key = listener * 25 + turn
                            _ = try? handler.once("number") { message in
                                let number = message.payload[0]?.int ?? -1
                                heard.withLock { $0[key, default: []].append(number) }
                            }
                        }
                    }
                }
            }
            try await eventually { heard.withLock { $0.count } >= 100 }
            await manager.shutdown()
            let counts = heard.withLock { $0 }
            #expect(counts.values.allSatisfy { $0.count == 1 }, "round \(round)")
        }
    }

    @Test
    func `the message of one listener and the held ones are all that were sent`() async throws {
        for _ in 0..<40 {
            let manager = ConnectionManager()
            let (hub, handler) = try await self.live(manager)
            let taken = Lock<[Int]>([])
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask { for number in 0..<100 { hub.emit("number", .json("\(number)")) } }
                group.addTask {
                    for _ in 0..<20 {
                        let heard = Lock(false)
                        let subscription = try? handler.once("number") { message in
                            taken.withLock { $0.append(message.payload[0]?.int ?? -1) }
                            heard.withLock { $0 = true }
                        }
                        try await eventually { heard.withLock { $0 } }
                        subscription?.cancel()
                    }
                }
            }
            #expect(taken.withLock { $0 } == Array(0..<20), "each call takes the next, none is skipped")
            try handler.on("number") { message in taken.withLock { $0.append(message.payload[0]?.int ?? -1) } }
            try await eventually { taken.withLock { $0.count } >= 100 }
            await manager.shutdown()
            #expect(taken.withLock { $0 } == Array(0..<100))
        }
    }
}
