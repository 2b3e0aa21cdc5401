@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("Commands that are held back", .timeLimit(.minutes(1)))
struct DelayTests {
    private func delayed(
        _ harness: Harness, _ event: String, _ kind: Command.Kind = .send, by delay: Duration,
        timeout: Duration? = nil, isVolatile: Bool = false
    ) -> Command {
        var command = Command(
            kind, event: event, payload: .empty, timeout: timeout, isVolatile: isVolatile,
            completion: harness.recorder.completion(event))
        command.delay = delay
        return command
    }

    @Test
    func `a command leaves when its delay is over, and others do not wait for it`() throws {
        let harness = try Harness.connected()
        try harness.connection.perform(self.delayed(harness, "late", by: .seconds(10)))
        try harness.perform(.send, "now")
        harness.scheduler.advance(by: .milliseconds(9_999))
        #expect(harness.arrived == ["now"])
        #expect(harness.connection.status.waitingCommands == 1)
        #expect(try harness.connection.ask { $0.sender.outgoing.listed.map(\.stage) } == [.waiting])
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.arrived == ["now", "late"])
        #expect(harness.isSuccess("late"))
        #expect(harness.connection.status.waitingCommands == 0)
    }

    @Test
    func `while the connection is down it queues when its delay is over`() throws {
        let harness = try Harness()
        try harness.connection.perform(self.delayed(harness, "second", by: .seconds(5)))
        try harness.perform(.send, "first")
        harness.scheduler.advance(by: .seconds(5))
        try harness.perform(.send, "third")
        try harness.connection.perform(self.delayed(harness, "fourth", by: .seconds(5)))
        try harness.enter(.connected)
        #expect(harness.arrived == ["first", "second", "third"])
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.arrived == ["first", "second", "third", "fourth"])
    }

    @Test(arguments: [Command.Kind.send, .request, .deliver(orderingKey: "room")])
    func `cancelled meanwhile, it is not sent`(kind: Command.Kind) throws {
        let harness = try Harness.connected()
        let command = self.delayed(harness, "late", kind, by: .seconds(10))
        try harness.connection.perform(command)
        harness.scheduler.advance(by: .seconds(9))
        harness.connection.cancel(command.id)
        harness.scheduler.settle()
        #expect(harness.failure("late")?.code == .cancelled)
        #expect(harness.failure("late")?.certainty == .notSent)
        #expect(harness.connection.status.waitingCommands == 0)
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.arrived.isEmpty)
    }

    @Test
    func `a time limit begins when the delay is over`() throws {
        let harness = try Harness { _ in .perfect }
        try harness.connection.perform(
            self.delayed(harness, "ask", .request, by: .seconds(10), timeout: .seconds(5)))
        harness.scheduler.advance(by: .milliseconds(14_999))
        #expect(harness.recorder.endedLabels.isEmpty)
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.failure("ask")?.code == .timedOut)
        #expect(harness.failure("ask")?.certainty == .notSent)
    }

    @Test
    func `requests and deliveries are answered, a volatile send needs a link when its delay is over`() throws {
        let harness = try Harness.connected()
        try harness.connection.perform(self.delayed(harness, "ask", .request, by: .seconds(1)))
        try harness.connection.perform(self.delayed(harness, "say", .deliver(orderingKey: "a"), by: .seconds(2)))
        try harness.connection.perform(self.delayed(harness, "cursor", by: .seconds(3), isVolatile: true))
        harness.scheduler.advance(by: .seconds(3))
        #expect(harness.arrived == ["ask", "say", "cursor"])
        for event in ["ask", "say", "cursor"] { #expect(harness.isSuccess(event)) }
        try harness.connection.disconnect()
        try harness.connection.perform(self.delayed(harness, "lost", by: .seconds(1), isVolatile: true))
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.failure("lost")?.code == .cancelled)
    }

    @Test
    func `it takes the place of one with its key when its delay is over, and not before`() throws {
        let harness = try Harness()
        var late = self.delayed(harness, "late", by: .seconds(5))
        late.replacing = "cursor"
        try harness.connection.perform(late)
        for number in 1...2 { try harness.connection.send("\(number)", replacing: "cursor") }
        #expect(harness.connection.status.waitingCommands == 2)
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.connection.status.waitingCommands == 1)
        try harness.enter(.connected)
        #expect(harness.arrived == ["late"])
    }

    @Test
    func `those that are held back are bounded by the buffer, and fail with the connection`() throws {
        let harness = try Harness(options: { $0.buffer.commands = 2 }, script: { _ in .perfect })
        for event in ["one", "two"] {
            try harness.connection.perform(self.delayed(harness, event, by: .seconds(60)))
        }
        let error = #expect(throws: LinkspanError.self) {
            try harness.connection.perform(self.delayed(harness, "three", by: .seconds(60)))
        }
        #expect(error?.code == .bufferFull)
        harness.connection.end(nil)
        harness.scheduler.settle()
        for event in ["one", "two"] { #expect(harness.failure(event)?.code == .released) }
    }

    @Test
    func `a listener may hold a command back, which waits at the cost of no timer of its own`() throws {
        let harness = try Harness.connected()
        let connection = harness.connection
        try connection.on("go") { _ in
            for number in 0..<1_000 {
                var command = Command(.send, event: "\(number)", payload: .empty)
                command.delay = .seconds(60 - number % 60)
                try? connection.perform(command)
            }
        }
        let timers = harness.scheduler.pendingCount
        harness.peers.first?.emit("go")
        harness.scheduler.advance(by: .milliseconds(500))
        #expect(connection.status.waitingCommands == 1_000)
        #expect(harness.scheduler.pendingCount <= timers + 1)
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.arrived.count == 1_000)
        #expect(harness.arrived.compactMap { Int($0) }.map { 60 - $0 % 60 }.isSorted)
    }

    @Test
    func `an awaited send returns when the link has taken it, or says that it was not sent`() async throws {
        let harness = try Harness()
        let connection = harness.connection
        let taken = self.failure { () throws(LinkspanError) in try await connection.send("first", 1, timeout: nil) }
        let late = self.failure { () throws(LinkspanError) in
            try await connection.send(Event<Int, NoReply>("late"), 2, after: .seconds(20), timeout: nil)
        }
        let refused = self.failure { () throws(LinkspanError) in
            try await connection.send("refused", after: .seconds(1), timeout: .seconds(2))
        }
        await harness.scheduler.run { connection.status.waitingCommands == 3 }
        harness.scheduler.advance(by: .seconds(3))
        let error = await refused.value
        #expect(error?.code == .timedOut && error?.certainty == .notSent)
        try harness.enter(.connected)
        #expect(await taken.value?.code == nil)
        #expect(harness.arrived == ["first"])
        harness.scheduler.advance(by: .seconds(20))
        #expect(await late.value?.code == nil)
        #expect(harness.arrived == ["first", "late"])
        let cancelled = self.failure { () throws(LinkspanError) in
            try await connection.send("never", after: .seconds(5), timeout: nil)
        }
        await harness.scheduler.run { connection.status.waitingCommands == 1 }
        cancelled.cancel()
        #expect(await cancelled.value?.code == .cancelled)
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.arrived == ["first", "late"])
    }

    /// The error with which a call ends; nil for none.
    private func failure(
        _ call: @escaping @Sendable () async throws(LinkspanError) -> Void
    ) -> Task<LinkspanError?, Never> {
        Task {
            do throws(LinkspanError) {
                try await call()
                return nil
            } catch {
                return error
            }
        }
    }
}

extension [Int] {
    fileprivate var isSorted: Bool { zip(self, self.dropFirst()).allSatisfy { $0 <= $1 } }
}
