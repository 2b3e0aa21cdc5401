internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@testable import Linkspan

@Suite("State changes", .timeLimit(.minutes(1)))
struct StateChangesTests {
    @Test
    func `handlers see every change in order, and a loss as two`() throws {
        let harness = try Harness { number in .init { $0.dropsAfter = number == 1 ? .seconds(1) : nil } }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(10))
        try harness.connection.disconnect()
        try harness.connection.release()
        #expect(
            harness.recorder.states == [
                .connected, .disconnected, .reconnecting, .connected, .disconnected, .released,
            ])
        #expect(harness.recorder.changes.map(\.sequence) == Array(1...6))
        let reconnecting = harness.recorder.changes[2]
        #expect(reconnecting.reason.error?.code == .connectionLost)
        #expect(reconnecting.nextAttempt == reconnecting.time + .seconds(1))
    }

    @Test
    func `the sequence begins with the newest, skips what has passed, and ends behind released`() async throws {
        let harness = try Harness()
        try harness.enter(.connected)
        try harness.connection.disconnect()
        var iterator = harness.connection.stateChanges.makeAsyncIterator()
        #expect(await iterator.next()?.to == .disconnected)
        try harness.connection.release()
        #expect(await iterator.next()?.to == .released)
        #expect(await iterator.next() == nil)
        #expect(await iterator.next() == nil)
    }

    @Test
    func `a waiting reader is woken by the next change`() async throws {
        let harness = try Harness()
        let changes = harness.connection.stateChanges
        async let first = { () async -> ConnectionState? in
            for await change in changes { return change.to }
            return nil
        }()
        try harness.enter(.connected)
        #expect(await first == .connected)
    }

    @Test
    func `a cancelled reader ends`() async throws {
        let harness = try Harness()
        let changes = harness.connection.stateChanges
        let reader = Task { for await _ in changes {} }
        reader.cancel()
        await reader.value
    }

    @Test
    func `a handler may operate the connection, and sees the changes one after another`() throws {
        let harness = try Harness()
        let (connection, recorder) = (harness.connection, EventRecorder())
        _ = connection.onStateChange { change in
            recorder.note("begin \(change.to)")
            if change.to == .connected { try? connection.disconnect() }
            if change.to == .disconnected { try? connection.release() }
            recorder.note("end \(change.to)")
        }
        try harness.enter(.connected)
        #expect(
            recorder.notes == [
                "begin connected", "end connected", "begin disconnected", "end disconnected", "begin released",
                "end released",
            ])
    }

    @Test
    func `a cancelled handler hears nothing more`() throws {
        let harness = try Harness()
        let recorder = EventRecorder()
        let subscription = harness.connection.onStateChange { recorder.record(.state($0)) }
        try harness.enter(.connected)
        subscription.cancel()
        try harness.connection.disconnect()
        #expect(recorder.states == [.connected])
    }
}

@Suite("Changes of the status", .timeLimit(.minutes(1)))
struct StatusChangeTests {
    @Test
    func `each attempt is reported, and the change to released is the last`() throws {
        let harness = PoolHarness(script: { _ in .refusing(.lost) })
        let handler = try harness.connect()
        let told = Lock<[String]>([])
        let attempts = Lock<[Int]>([])
        handler.onStatusChange { change in
            let text: String =
                switch change {
                case .state(let change): "\(change.to)"
                case .progress(let progress): "\(progress)"
                }
            if case .progress(.opening(let attempt)) = change { attempts.withLock { $0.append(attempt) } }
            told.withLock { $0.append(text) }
        }
        harness.scheduler.advance(by: .seconds(600))
        let seen = attempts.withLock { $0 }
        #expect(seen.count > 4)
        // The first may have begun before anybody listened.
        let first = try #require(seen.first)
        #expect(seen == Array(first..<(first + seen.count)))
        #expect(first <= 2)
        let connection = handler.connection
        connection.end(LinkspanError(.released, "ended in a test"))
        harness.scheduler.settle()
        #expect(told.withLock { $0.last } == "released")
    }

    @Test
    func `a handler that another one has cancelled is not called`() throws {
        let harness = PoolHarness()
        let handler = try harness.connect()
        harness.scheduler.settle()
        let (told, other) = (Lock<[ConnectionState]>([]), Lock<Subscription?>(nil))
        handler.onStateChange { change in
            if change.to == .disconnected { other.withLock { $0 }?.cancel() }
        }
        let cancelled = handler.onStateChange { change in told.withLock { $0.append(change.to) } }
        other.withLock { $0 = cancelled }
        harness.scheduler.settle()
        try handler.disconnect()
        harness.scheduler.settle()
        #expect(told.withLock { $0 } == [.connected])
    }

    @Test
    func `sequences of messages, values and states do not keep a connection, and end with its holder`() async throws {
        let harness = PoolHarness()
        var handler: ConnectionHandler? = try harness.connect()
        harness.scheduler.settle()
        let states = try #require(handler?.stateChanges)
        let messages = try #require(try handler?.events("event"))
        let values = try #require(try handler?.values(Event<Int, NoReply>("value")))
        let tasks = [
            Task { for await _ in states {} }, Task { for await _ in messages {} }, Task { for await _ in values {} },
        ]
        #expect(harness.manager.statistics.map(\.holders) == [1])
        handler = nil
        #expect(harness.manager.statistics.map(\.holders) == [0])
        for task in tasks { await task.value }
    }

    @Test
    func `a wait for a change that is cancelled leaves nothing behind`() async throws {
        let harness = PoolHarness()
        let handler = try harness.connect()
        let before = handler.subscriptionCount
        for _ in 0..<200 {
            let changes = handler.stateChanges
            let wait = Task { for await _ in changes {} }
            if Bool.random() { await Task.yield() }
            wait.cancel()
            await wait.value
        }
        #expect(handler.subscriptionCount == before)
    }
}
