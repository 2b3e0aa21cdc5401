@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

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
        let connection = try #require(handler.connection as? PooledConnection)
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
