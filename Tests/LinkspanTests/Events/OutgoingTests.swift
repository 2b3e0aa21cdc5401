@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("Listening to what is sent", .timeLimit(.minutes(1)))
struct OutgoingTests {
    @Test
    func `every command is heard when the link takes it, with what is promised about it`() throws {
        let harness = try Harness.connected()
        let heard = Lock<[Command]>([])
        let subscription = try harness.connection.onAnyOutgoing { message in heard.withLock { $0.append(message) } }
        try harness.connection.send("a", 1)
        try harness.perform(.request, "b")
        try harness.perform(.deliver(orderingKey: "l"), "c")
        #expect(heard.withLock { $0.map(\.event) } == ["a", "b", "c"])
        #expect(heard.withLock { $0.map(\.kind) } == [.send, .request, .deliver(orderingKey: "l")])
        #expect(heard.withLock { $0.first?.payload.text } == "1")
        harness.scheduler.settle()
        #expect(harness.arrived == ["a", "b", "c"])
        #expect(harness.isSuccess("b"))
        subscription.cancel()
        try harness.connection.send("d")
        #expect(heard.withLock { $0.count } == 3)
    }

    @Test
    func `waiting commands are heard when flushed, and a delivery each time`() throws {
        let harness = try Harness { number in .init { $0.dropsAfterMessages = number == 1 ? 3 : nil } }
        try harness.connection.onAnyOutgoing { harness.recorder.note($0.event) }
        for event in ["a", "b"] { try harness.perform(.send, event) }
        try harness.perform(.deliver(orderingKey: "l"), "c")
        #expect(harness.recorder.notes == [])
        try harness.enter(.connected)
        #expect(harness.recorder.notes == ["a", "b", "c"])
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.recorder.notes == ["a", "b", "c", "c"])
    }

    @Test
    func `a command that the link does not take is heard once it does`() throws {
        let harness = try Harness.connected(script: { _ in .init { $0.capacity = 2 } })
        try harness.connection.onAnyOutgoing { harness.recorder.note($0.event) }
        for event in ["a", "b", "c", "d"] { try harness.perform(.send, event) }
        #expect(harness.recorder.notes == ["a", "b"])
        harness.scheduler.settle()
        harness.peers.first?.read()
        harness.scheduler.settle()
        #expect(harness.recorder.notes == ["a", "b", "c", "d"])
        try harness.connection.disconnect()
        try harness.perform(.send, "e", isVolatile: true)
        #expect(harness.recorder.notes == ["a", "b", "c", "d"])
    }

    @Test
    func `a listener may send, and is heard behind`() throws {
        let harness = try Harness.connected()
        try harness.connection.onAnyOutgoing { message in
            harness.recorder.note(message.event)
            if message.event == "a" { try? harness.connection.send("b") }
            harness.recorder.note("end \(message.event)")
        }
        try harness.connection.send("a")
        harness.scheduler.settle()
        #expect(harness.recorder.notes == ["a", "end a", "b", "end b"])
        #expect(harness.arrived == ["a", "b"])
    }

    @Test
    func `the order is that of the wire while many threads send`() async throws {
        let harness = try Harness.connected()
        let heard = Lock<[String]>([])
        try harness.connection.onAnyOutgoing { message in heard.withLock { $0.append(message.event) } }
        await withDiscardingTaskGroup { group in
            for thread in 0..<4 {
                group.addTask {
                    for number in 0..<200 { try? harness.connection.send("\(thread)-\(number)") }
                }
            }
        }
        // The call that performs may still run when the others have returned.
        try await eventually { heard.withLock { $0.count } >= 800 }
        harness.scheduler.settle()
        #expect(harness.arrived == heard.withLock { $0 })
        #expect(harness.arrived.count == 800)
    }

    @Test
    func `listeners end with their handler and with the connection`() throws {
        let witness = Witness()
        let harness = PoolHarness()
        let (one, other) = (try harness.connect(), try harness.connect())
        harness.scheduler.settle()
        let recorder = EventRecorder()
        try one.onAnyOutgoing { recorder.note("one \($0.event)") }
        try other.onAnyOutgoing { [held = Held(witness)] in
            held.touch()
            recorder.note("other \($0.event)")
        }
        try other.send("a")
        one.release()
        try other.send("b")
        #expect(recorder.notes == ["one a", "other a", "other b"])
        let connection = other.connection
        connection.end(nil)
        #expect(witness.count == 0)
        #expect(throws: LinkspanError.self) { try connection.onAnyOutgoing { _ in } }
    }

    @Test
    func `without listeners commands do not queue`() throws {
        let harness = try Harness.connected()
        // From inside an announcement, which is when others would have to wait.
        _ = harness.connection.onStateChange { _ in
            try? harness.connection.send("a")
            harness.recorder.note("accepted \(harness.transport.sent.count)")
        }
        #expect(harness.recorder.notes == ["accepted 1"])
    }

    @Test
    func `what a listener sends leaves at once, also behind a send`() throws {
        let harness = try Harness.connected()
        try harness.connection.on("go") { _ in
            for event in ["a", "b", "c"] { try? harness.connection.send(event) }
            harness.recorder.note(harness.transport.sent.map(\.event).joined())
        }
        harness.peers.first?.emit("go")
        harness.scheduler.settle()
        #expect(harness.recorder.notes == ["abc"])
    }

    @Test
    func `a link that a listener has filled is closed to other threads until it has room`() throws {
        let harness = try Harness.connected(script: { _ in .init { $0.capacity = 1 } })
        try harness.connection.on("go") { _ in try? harness.connection.send("a") }
        let isOpen = { harness.connection.inbox.withState { $0.isOpen } }
        #expect(isOpen())
        harness.peers.first?.emit("go")
        harness.scheduler.settle()
        #expect(!isOpen())
        harness.peers.first?.read()
        harness.scheduler.settle()
        #expect(isOpen())
    }
}
