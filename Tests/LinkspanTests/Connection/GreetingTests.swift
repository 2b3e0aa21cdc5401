@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("The greeting", .timeLimit(.minutes(1)))
struct GreetingTests {
    private func harness(
        deadline: Duration = .seconds(10), _ body: @escaping @Sendable (GreetingChannel) async throws -> Void
    ) throws -> Harness {
        let harness = try Harness(
            options: { $0.greeting = Greeting("test", deadline: deadline, body) }, script: { _ in .perfect })
        harness.transport.onMessage { $0.reply($0.payload) }
        return harness
    }

    /// Lets messages and replies pass until the greeting has come to its end.
    private func settle(_ harness: Harness, until condition: () -> Bool) async throws {
        try await eventually("the end of the greeting") {
            harness.scheduler.settle()
            return condition()
        }
    }

    @Test
    func `goes first over every link, and what waited follows`() async throws {
        let harness = try self.harness { channel in
            try channel.send("hello")
            _ = try await channel.request("login", "token")
        }
        for number in 0..<3 { try harness.perform(.send, "\(number)") }
        try harness.connection.connect()
        try await self.settle(harness) { harness.arrived.count == 5 }
        #expect(harness.arrived == ["hello", "login", "0", "1", "2"])
        harness.peers.first?.drop()
        try harness.perform(.send, "kept")
        harness.scheduler.advance(by: .seconds(3))
        try await self.settle(harness) { harness.arrived.count == 8 }
        #expect(Array(harness.arrived.suffix(3)) == ["hello", "login", "kept"])
    }

    @Test
    func `typed events are sent, and their replies read`() async throws {
        let read = Promise<[Int]>()
        let harness = try self.harness { channel in
            try channel.send(Event<[Int], NoReply>("hello"), [1])
            let same = try await channel.request(Event<[Int], [Int]>("login"), [2, 3])
            _ = try await channel.request(Event<[Int], NoReply>("note"), [4])
            let error = await #expect(throws: LinkspanError.self) {
                try await channel.request(Event<[Int], String>("text"), [5])
            }
            #expect(error?.code == .decodingFailed)
            read.fulfill(same)
        }
        try harness.connection.connect()
        try await self.settle(harness) { read.fulfilled != nil }
        #expect(harness.arrived == ["hello", "login", "note", "text"])
        #expect(read.fulfilled == [2, 3])
    }

    @Test
    func `nothing else leaves while it lasts`() async throws {
        let gate = Promise<Void>()
        let harness = try self.harness { channel in
            try channel.send("hello")
            await gate.value
        }
        try harness.connection.connect()
        try await self.settle(harness) { harness.arrived == ["hello"] }
        #expect(harness.connection.state == .connected)
        try harness.perform(.send, "a")
        try harness.perform(.request, "b")
        try harness.perform(.deliver(orderingKey: "room"), "c")
        try harness.perform(.send, "volatile", isVolatile: true)
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.arrived == ["hello"])
        #expect(harness.failure("volatile")?.certainty == .notSent)
        gate.fulfill()
        try await self.settle(harness) { harness.arrived.count == 4 }
        #expect(harness.arrived == ["hello", "a", "b", "c"])
    }

    @Test
    func `a failure ends the link, and the retry policy goes on`() async throws {
        let attempts = Counter()
        let harness = try self.harness { channel in
            attempts.increment()
            if attempts.value == 1 { throw CancellationError() }
            try channel.send("hello")
        }
        try harness.perform(.send, "kept")
        try harness.connection.connect()
        try await self.settle(harness) { harness.recorder.changes.last?.to == .reconnecting }
        #expect(harness.recorder.changes.last?.reason.error?.code == .greetingFailed)
        #expect(harness.transport.openPeers.isEmpty)
        harness.scheduler.advance(by: .seconds(5))
        try await self.settle(harness) { harness.arrived.count == 2 }
        #expect(harness.arrived == ["hello", "kept"])
    }

    @Test
    func `a permanent error gives the connection up`() async throws {
        let harness = try self.harness { _ in throw LinkspanError(.unsupportedVersion, "too old") }
        try harness.connection.connect()
        try await self.settle(harness) { harness.recorder.changes.last?.to == .disconnected }
        #expect(harness.recorder.changes.last?.reason.error?.code == .unsupportedVersion)
        harness.scheduler.advance(by: .seconds(600))
        #expect(harness.peers.count == 1)
    }

    @Test
    func `one that hangs costs its deadline and is cancelled`() async throws {
        let cancelled = Counter()
        let gate = Promise<Void>()
        let begun = Counter()
        let harness = try self.harness(deadline: .seconds(2)) { _ in
            begun.increment()
            await withTaskCancellationHandler {
                await gate.value
            } onCancel: {
                cancelled.increment()
                gate.fulfill()
            }
        }
        try harness.connection.connect()
        try await self.settle(harness) { begun.value == 1 }
        harness.scheduler.advance(by: .milliseconds(1_999))
        #expect(harness.connection.state == .connected)
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.recorder.changes.last?.reason.error?.code == .timedOut)
        try await eventually("the cancellation") { cancelled.value == 1 }
    }

    @Test
    func `none begins for a link that a listener ended when it heard of it`() async throws {
        let begun = Counter()
        let harness = try self.harness { _ in begun.increment() }
        let connection = harness.connection
        _ = connection.onStateChange { if $0.to == .connected { try? connection.disconnect() } }
        try harness.enter(.connected)
        #expect(harness.connection.state == .disconnected)
        #expect(try connection.ask { $0.sender.link?.greeting == nil })
        #expect(connection.inbox.withState { $0.greeting } == nil)
        harness.scheduler.advance(by: .seconds(20))
        #expect(begun.value == 0)
    }

    @Test
    func `its channel is for its own link alone`() async throws {
        let kept = Promise<GreetingChannel>()
        let harness = try self.harness { channel in
            try channel.send("hello")
            kept.fulfill(channel)
        }
        try harness.connection.connect()
        try await self.settle(harness) { harness.arrived == ["hello"] }
        let channel = await kept.value
        try harness.perform(.send, "after")
        try await self.settle(harness) { harness.arrived.count == 2 }
        let error = #expect(throws: LinkspanError.self) { try channel.send("late") }
        #expect(error?.code == .disconnected)
        #expect(error?.certainty == .notSent)
    }

    @Test
    func `it is cancelled with its link, before there is another`() async throws {
        let (gate, begun) = (Promise<Void>(), Counter())
        let harness = try self.harness { _ in
            begun.increment()
            await withTaskCancellationHandler {
                await gate.value
            } onCancel: {
                gate.fulfill()
            }
        }
        try harness.connection.connect()
        try await self.settle(harness) { begun.value == 1 }
        harness.peers.first?.drop()
        harness.scheduler.settle()
        try await eventually("the cancellation") { gate.fulfilled != nil }
        #expect(harness.connection.state == .reconnecting)
    }

    @Test(arguments: [false, true])
    func `a server that has answered one that fails is one that comes and goes`(isAnswered: Bool) async throws {
        let asked = Asked()
        let harness = try Harness(
            options: {
                $0.retry = RetryPolicy { question in
                    asked.record(question)
                    return nil
                }
                $0.greeting = Greeting("test") { channel in
                    if isAnswered { _ = try await channel.request("login") }
                    throw CancellationError()
                }
            }, script: { _ in .perfect })
        harness.transport.onMessage { $0.reply($0.payload) }
        try harness.connection.connect()
        try await self.settle(harness) { asked.questions.count == 1 }
        #expect(asked.questions.map(\.isFlapping) == [isAnswered])
    }
}
