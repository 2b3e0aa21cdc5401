@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("Requests")
struct RequestTests {
    @Test
    func `a request ends with its own reply`() throws {
        let harness = try Harness.connected()
        for number in 0..<10 {
            try harness.connection.perform(
                Command(
                    .request, event: "\(number)", payload: .json("\(number)"),
                    completion: harness.recorder.completion("\(number)")))
        }
        harness.scheduler.settle()
        for number in 0..<10 { #expect(try harness.outcome("\(number)")?.get().text == "\(number)") }
        #expect(harness.transport.sent.map(\.requestID) == (0..<10).map { UInt64($0) })
    }

    @Test
    func `a request without a limit of its own has that of the connection, the wait for the link included`() throws {
        let harness = try Harness(options: { $0.replyTimeout = .seconds(5) }, script: { _ in .perfect })
        try harness.perform(.request, "waits")
        try harness.perform(.request, "has more", timeout: .seconds(8))
        harness.scheduler.advance(by: .milliseconds(4_999))
        #expect(harness.recorder.endedLabels.isEmpty)
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.failure("waits")?.code == .timedOut)
        #expect(harness.failure("waits")?.certainty == .notSent)
        try harness.enter(.connected)
        try harness.perform(.request, "unanswered")
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.recorder.endedLabels == ["waits", "has more", "unanswered"])
        #expect(harness.failure("unanswered")?.certainty == .unknown)
    }

    @Test
    func `5.4 connected to backing off: a request under way fails at once and may have been received`() throws {
        let harness = try Harness { _ in .perfect }
        try harness.enter(.connected)
        try harness.perform(.request, "first", timeout: .seconds(30))
        try harness.perform(.request, "second", timeout: .seconds(30))
        harness.scheduler.settle()
        harness.peers.first?.drop()
        harness.scheduler.settle()
        for event in ["first", "second"] {
            #expect(harness.failure(event)?.code == .disconnected)
            #expect(harness.failure(event)?.certainty == .unknown)
            #expect((harness.failure(event)?.cause as? LinkspanError)?.code == .connectionLost)
        }
        #expect(harness.recorder.endedLabels == ["first", "second"])
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.arrived == ["first", "second"], "a request is sent at most once")
        #expect(harness.recorder.endedLabels.count == 2)
    }

    @Test
    func `5.4 close: a request under way fails when the app disconnects`() throws {
        let harness = try Harness { _ in .perfect }
        try harness.enter(.connected)
        try harness.perform(.request, "request")
        try harness.connection.disconnect()
        #expect(harness.failure("request")?.code == .disconnected)
        #expect(harness.failure("request")?.certainty == .unknown)
    }

    @Test
    func `a request that waited offline is sent and answered`() throws {
        let harness = try Harness()
        harness.transport.onMessage { $0.reply() }
        try harness.perform(.request, "request", timeout: .seconds(30))
        harness.scheduler.advance(by: .seconds(29))
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(harness.isSuccess("request"))
    }

    @Test
    func `the timeout counts from the call and says whether the request left`() throws {
        let harness = try Harness()
        try harness.perform(.request, "waits", timeout: .seconds(5))
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.failure("waits")?.certainty == .notSent)
        try harness.enter(.connected)
        try harness.perform(.request, "unanswered", timeout: .seconds(5))
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.failure("unanswered")?.code == .timedOut)
        #expect(harness.failure("unanswered")?.certainty == .unknown)
    }

    @Test
    func `late, repeated and unknown replies are counted and change nothing`() throws {
        let harness = try Harness { _ in .perfect }
        try harness.enter(.connected)
        try harness.perform(.request, "late", timeout: .seconds(1))
        try harness.perform(.request, "answered", timeout: .seconds(1))
        harness.scheduler.settle()
        let peer = try #require(harness.peers.first)
        peer.reply(1)
        harness.scheduler.advance(by: .seconds(1))
        peer.reply(0)
        peer.reply(1)
        peer.reply(99)
        harness.scheduler.settle()
        #expect(harness.failure("late")?.code == .timedOut)
        #expect(harness.isSuccess("answered"))
        #expect(harness.connection.lateReplies == 3)
    }

    @Test
    func `a reply that comes over a former link does not answer a newer request`() throws {
        let harness = try Harness { number in .init { $0.speaksAfterDrop = number == 1 } }
        try harness.enter(.connected)
        let former = try #require(harness.peers.first)
        former.drop()
        harness.scheduler.advance(by: .seconds(5))
        try harness.perform(.request, "request")
        harness.scheduler.settle()
        former.reply(0, .json("\"wrong\""))
        former.emit("wrong")
        harness.scheduler.settle()
        #expect(harness.recorder.outcomes("request").isEmpty)
        #expect(harness.recorder.messages.isEmpty)
    }

    @Test(arguments: [Command.Kind.request, .deliver(orderingKey: "room")])
    func `a command that ends while the link rejects it has one outcome`(kind: Command.Kind) throws {
        let cancel = Lock<(@Sendable () -> Void)?>(nil)
        let harness = try Harness { _ in
            .init {
                $0.rejects = { _ in
                    cancel.withLock { $0 }?()
                    return LinkspanError(.messageTooLarge, "too large")
                }
            }
        }
        try harness.enter(.connected)
        let connection = harness.connection
        let command = Command(kind, event: "event", payload: .empty, completion: harness.recorder.completion("event"))
        cancel.withLock { $0 = { connection.cancel(command.id) } }
        try connection.perform(command)
        #expect(harness.recorder.outcomes("event").count == 1)
        // The link's answer comes before a call that was made while it was asked.
        #expect(harness.failure("event")?.code == .messageTooLarge)
        cancel.withLock { $0 = nil }
    }

    @Test(.timeLimit(.minutes(1)))
    func `cancelling the task gives the request up at once`() async throws {
        let harness = try Harness { _ in .perfect }
        let connection = harness.connection
        let waiting = Task { try await connection.request("waiting") }
        try await eventually { connection.status.waitingCommands != 0 }
        waiting.cancel()
        let notSent = await #expect(throws: LinkspanError.self) { try await waiting.value }
        #expect(notSent?.code == .cancelled)
        #expect(notSent?.certainty == .notSent)

        try harness.enter(.connected)
        let sent = Task { try await connection.request("sent") }
        try await eventually { !harness.transport.sent.isEmpty }
        sent.cancel()
        let unknown = await #expect(throws: LinkspanError.self) { try await sent.value }
        #expect(unknown?.certainty == .unknown)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a task that was cancelled before it asked gets its answer like any other`() async throws {
        let harness = try Harness { _ in .perfect }
        let connection = harness.connection
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await connection.request("request")
        }
        let error = await #expect(throws: LinkspanError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(connection.status.waitingCommands == 0)
    }

    @Test
    func `one that is made behind a change of the options has their time`() throws {
        let harness = try Harness.connected()
        harness.transport.onMessage { _ in }
        var options = ConnectionOptions()
        options.replyTimeout = .seconds(5)
        try harness.connection.adjust(options)
        try harness.perform(.request, "slow")
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.failure("slow")?.code == .timedOut)
    }

    @Test
    func `one timer runs for a connection, and follows its earliest deadline`() throws {
        let harness = try Harness.connected()
        harness.transport.onMessage { _ in }
        let counts = try [30, 20, 10, 40].map { seconds in
            try harness.perform(.request, "\(seconds)", timeout: .seconds(seconds))
            harness.scheduler.settle()
            return harness.scheduler.pendingCount
        }
        #expect(Set(counts).count == 1)
        harness.scheduler.advance(by: .seconds(40))
        #expect(harness.recorder.endedLabels == ["10", "20", "30", "40"])
    }
}
