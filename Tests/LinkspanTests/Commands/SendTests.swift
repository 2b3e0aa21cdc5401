internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import Testing

@testable import Linkspan

@Suite("Sending")
struct SendTests {
    @Test
    func `5.4 idle to connecting and connected: what was sent offline leaves first in, first out`() throws {
        let harness = try Harness()
        for number in 0..<1_000 { try harness.perform(.send, "\(number)") }
        #expect(harness.connection.status.waitingCommands == 1_000)
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.arrived == (0..<1_000).map(String.init))
        #expect(harness.recorder.endedLabels == (0..<1_000).map(String.init))
    }

    @Test
    func `commands sent inside the flush follow those that waited`() throws {
        let harness = try Harness()
        let connection = harness.connection
        for number in 0..<600 {
            try connection.perform(
                Command(.send, event: "\(number)", payload: .empty) { _ in
                    if number == 0 { try? connection.send("late") }
                })
        }
        try connection.connect()
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.arrived == (0..<600).map(String.init) + ["late"])
    }

    @Test
    func `5.4 connected to backing off: the buffer is kept over losses and refusals`() throws {
        let harness = try Harness { number in
            number == 2 ? .refusing(.lost) : .init { if number == 1 { $0.dropsAfter = .seconds(1) } }
        }
        try harness.enter(.connected)
        harness.scheduler.advance(by: .seconds(1))
        for number in 0..<5 { try harness.perform(.send, "\(number)") }
        harness.scheduler.advance(by: .seconds(30))
        #expect(harness.peers.count == 3)
        #expect(harness.arrived == ["0", "1", "2", "3", "4"])
        #expect(harness.recorder.endedLabels == ["0", "1", "2", "3", "4"])
    }

    @Test
    func `a send that the link has taken is never sent again`() throws {
        let harness = try Harness { number in
            number == 1
                ? .init {
                    $0.isHalfOpenAfter = .zero; $0.dropsAfter = .seconds(1)
                } : .perfect
        }
        try harness.enter(.connected)
        try harness.perform(.send, "once")
        harness.scheduler.advance(by: .seconds(30))
        #expect(harness.peers.count == 2)
        #expect(harness.transport.sent.map(\.event) == ["once"])
        #expect(harness.arrived.isEmpty)
        #expect(harness.isSuccess("once"))
    }

    @Test
    func `a send that waits longer than its timeout ends as not sent`() throws {
        let harness = try Harness()
        try harness.perform(.send, "short", timeout: .seconds(30))
        try harness.perform(.send, "long", timeout: .seconds(90))
        harness.scheduler.advance(by: .seconds(29))
        #expect(harness.outcome("short") == nil)
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.failure("short")?.code == .timedOut)
        #expect(harness.failure("short")?.certainty == .notSent)
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(120))
        #expect(harness.arrived == ["long"])
        #expect(harness.isSuccess("long"))
    }

    @Test
    func `a send that is cancelled while it waits is not sent`() throws {
        let harness = try Harness()
        let command = Command(
            .send, event: "gone", payload: .empty, completion: harness.recorder.completion("gone"))
        try harness.connection.perform(command)
        harness.connection.cancel(command.id)
        harness.connection.cancel(command.id)
        try harness.enter(.connected)
        #expect(harness.arrived.isEmpty)
        #expect(harness.failure("gone")?.code == .cancelled)
        #expect(harness.failure("gone")?.certainty == .notSent)
    }

    @Test(arguments: [BufferLimits.Overflow.refuse, .dropOldest, .dropNewest])
    func `a full buffer costs exactly one command its outcome`(rule: BufferLimits.Overflow) throws {
        let harness = try Harness(
            options: { $0.buffer = BufferLimits(commands: 2, overflow: rule) }, script: { _ in .perfect })
        try harness.perform(.send, "a")
        try harness.perform(.send, "b")
        if rule == .refuse {
            let error = #expect(throws: LinkspanError.self) { try harness.perform(.send, "c") }
            #expect(error?.code == .bufferFull)
            #expect(harness.recorder.outcomes("c").isEmpty)
        } else {
            try harness.perform(.send, "c")
            let loser = rule == .dropOldest ? "a" : "b"
            #expect(harness.failure(loser)?.code == .bufferFull)
            #expect(harness.failure(loser)?.certainty == .notSent)
        }
        try harness.enter(.connected)
        #expect(harness.arrived == (rule == .refuse ? ["a", "b"] : rule == .dropOldest ? ["b", "c"] : ["a", "c"]))
    }

    @Test
    func `a volatile send is left out when it cannot leave at once`() throws {
        let harness = try Harness()
        try harness.perform(.send, "offline", isVolatile: true)
        #expect(harness.failure("offline")?.code == .cancelled)
        #expect(harness.failure("offline")?.certainty == .notSent)
        try harness.enter(.connected)
        try harness.perform(.send, "online", isVolatile: true)
        try harness.connection.send("by name", 1, volatile: true)
        harness.scheduler.settle()
        #expect(harness.arrived == ["online", "by name"])
    }

    @Test
    func `a message that the link rejects ends with the link's error, and the others go on`() throws {
        let tooLarge = LinkspanError(.messageTooLarge, "too large")
        let harness = try Harness { _ in .init { $0.rejects = { $0.event == "b" ? tooLarge : nil } } }
        for event in ["a", "b", "c"] { try harness.perform(.send, event) }
        try harness.enter(.connected)
        #expect(harness.arrived == ["a", "c"])
        #expect(harness.failure("b")?.code == .messageTooLarge)
        #expect(harness.failure("b")?.certainty == .notSent)
    }

    @Test
    func `5.4 any to failed: what waits fails as not sent when trying again cannot help`() throws {
        let harness = try Harness { _ in .refusing(.permanent) }
        try harness.perform(.send, "send")
        try harness.perform(.request, "request")
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(harness.connection.state == .disconnected)
        for event in ["send", "request"] {
            #expect(harness.failure(event)?.code == .disconnected)
            #expect(harness.failure(event)?.certainty == .notSent)
        }
    }

    @Test
    func `5.4 close: what waits fails with released, and new calls throw`() throws {
        let harness = try Harness()
        try harness.enter(.disconnected)
        try harness.perform(.send, "send")
        try harness.perform(.request, "request")
        try harness.perform(.deliver(orderingKey: "room"), "deliver")
        try harness.connection.release()
        for event in ["send", "request", "deliver"] {
            #expect(harness.failure(event)?.code == .released)
            #expect(harness.failure(event)?.certainty == .notSent)
        }
        let error = #expect(throws: LinkspanError.self) { try harness.perform(.send, "late") }
        #expect(error?.certainty == .notSent)
    }

    @Test
    func `a send that the link rejects and nobody waits for is in the log`() throws {
        let log = LogRecorder(from: .warning)
        let harness = try Harness(logger: Logger(label: "test") { _ in log }) { _ in
            .init { $0.rejects = { _ in LinkspanError(.messageTooLarge, "too large in a test") } }
        }
        try harness.enter(.connected)
        try harness.connection.send("large", "x")
        try harness.perform(.send, "awaited")
        harness.scheduler.settle()
        #expect(log.lines.map(\.message) == ["A message was not sent"])
        #expect(log.lines.first?.metadata["event"]?.description == "large")
        #expect(harness.failure("awaited")?.code == .messageTooLarge)
    }

}

@Suite("Messages that must not be compressed", .timeLimit(.minutes(1)))
struct CompressOptionTests {
    private struct Sent: Hashable {
        let event: String
        let isCompressible: Bool
    }

    @Test(arguments: [true, false])
    func `the option reaches the link with every kind of command`(compress: Bool) async throws {
        let sent = Lock<[Sent]>([])
        let transport = InstantTransport { message in
            sent.withLock { $0.append(Sent(event: message.event, isCompressible: message.isCompressible)) }
        }
        let manager = ConnectionManager()
        let handler = try ConnectionBuilder("instant://server").transport(transport).connect(by: manager)
        let typed = Event<Int, Int>("typed")
        // The first waits for the link, the others find it open.
        try handler.send("waits", 1, compress: compress)
        _ = try await handler.request("request", 1, compress: compress)
        try handler.send("send", 1, compress: compress)
        try handler.send("volatile", 1, volatile: true, compress: compress)
        try await handler.deliver("deliver", 1, compress: compress)
        try await handler.enqueue("enqueue", 1, compress: compress)
        try handler.send(typed, 1, compress: compress)
        _ = try await handler.request(typed, 1, compress: compress)
        try await handler.deliver(typed, 1, compress: compress)
        try await handler.enqueue(typed, 1, compress: compress)
        try handler.perform(Command(.send, event: "command", payload: .empty, isCompressible: compress))
        _ = try await handler.request("end", 1)
        let events =
            ["waits", "request", "send", "volatile", "deliver", "enqueue"] + Array(repeating: "typed", count: 4)
            + ["command"]
        #expect(
            sent.withLock { $0 }
                == events.map { Sent(event: $0, isCompressible: compress) } + [
                    Sent(event: "end", isCompressible: true)
                ])
        await manager.shutdown()
    }

    @Test
    func `the option of a delivery outlives its process`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let harness = try Harness(options: { $0.store = store }, script: { _ in .perfect })
        for isCompressible in [true, false] {
            try harness.connection.perform(
                Command(.deliver(orderingKey: "room"), event: "a", payload: .empty, isCompressible: isCompressible))
        }
        #expect(store.rows.map(\.isCompressible) == [true, false])
        #expect(store.rows.map { Command(restored: $0).message.isCompressible } == [true, false])
    }
}
