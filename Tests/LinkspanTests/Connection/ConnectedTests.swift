@testable import Linkspan
internal import LinkspanInMemory
internal import LinkspanTesting
internal import Testing

@Suite("Waiting for the connection", .timeLimit(.minutes(1)))
struct ConnectedTests {
    /// Waits on a task of its own, and returns when that has begun to wait.
    private func wait(
        for connection: some Connection, within limit: Duration? = nil, _ harness: Harness
    ) async -> Task<Result<Void, LinkspanError>, Never> {
        let timers = harness.scheduler.pendingCount
        let task = Task {
            do throws(LinkspanError) {
                try await connection.connected(within: limit ?? .seconds(3_600))
                return Result<Void, LinkspanError>.success(())
            } catch {
                return .failure(error)
            }
        }
        await harness.scheduler.pending(atLeast: timers + 1)
        return task
    }

    private func code(_ result: Result<Void, LinkspanError>) -> LinkspanError.Code? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    @Test
    func `a connection that is up is returned at once`() async throws {
        let harness = try Harness.connected()
        let connection = try await harness.connection.connected(within: .zero)
        #expect(connection === harness.connection)
    }

    @Test
    func `connecting and waiting are one line`() async throws {
        let connection = try await ConnectionBuilder("memory://lobby").transport(.inMemory(InMemoryHub()))
            .connect(by: ConnectionManager()).connected(within: .seconds(30))
        #expect(connection.state == .connected)
    }

    @Test
    func `failed attempts are waited out`() async throws {
        let harness = try Harness { number in .init { if number < 3 { $0.opening = .refuses(.lost) } } }
        try harness.connection.connect()
        let outcome = await self.wait(for: harness.connection, harness)
        harness.scheduler.advance(by: .seconds(60))
        #expect(self.code(await outcome.value) == nil)
        #expect(harness.transport.peers.count == 3)
    }

    @Test
    func `a loss and a suspension are waited out`() async throws {
        let harness = try Harness.connected()
        harness.connection.suspend(LinkspanError(.suspended, "asleep"), patience: nil)
        harness.scheduler.settle()
        #expect(harness.connection.state == .disconnected)
        let outcome = await self.wait(for: harness.connection, harness)
        harness.connection.resume(within: .zero)
        harness.scheduler.advance(by: .seconds(10))
        #expect(self.code(await outcome.value) == nil)
    }

    @Test
    func `the app's own disconnect of a suspended connection ends the wait, before and after it`() async throws {
        let harness = try Harness.connected()
        harness.connection.suspend(LinkspanError(.suspended, "asleep"), patience: nil)
        harness.scheduler.settle()
        let outcome = await self.wait(for: harness.connection, harness)
        try harness.connection.disconnect()
        harness.scheduler.settle()
        #expect(self.code(await outcome.value) == .disconnected)
        let again = await #expect(throws: LinkspanError.self) { try await harness.connection.connected() }
        #expect(again?.code == .disconnected)
    }

    @Test
    func `a failure for good is thrown, before and after it happens`() async throws {
        let harness = try Harness { _ in .refusing(.permanent) }
        try harness.connection.connect()
        let outcome = await self.wait(for: harness.connection, harness)
        harness.scheduler.settle()
        #expect(self.code(await outcome.value) == .tlsFailed)
        #expect(harness.connection.state == .disconnected)
        let again = await #expect(throws: LinkspanError.self) { try await harness.connection.connected() }
        #expect(again?.code == .tlsFailed)
    }

    @Test
    func `a timeout names the failure of the latest attempt, and the connection goes on trying`() async throws {
        let harness = try Harness { number in .init { if number == 1 { $0.opening = .refuses(.lost) } } }
        try harness.connection.connect()
        let outcome = await self.wait(for: harness.connection, within: .milliseconds(500), harness)
        harness.scheduler.advance(by: .milliseconds(500))
        guard case .failure(let error) = await outcome.value else { throw LinkspanError.lost }
        #expect(error.code == .timedOut)
        #expect((error.cause as? LinkspanError)?.code == .connectionLost)
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.connection.state == .connected)
    }

    @Test
    func `the app's own disconnect and the release end the wait`() async throws {
        let harness = try Harness { _ in .init { $0.opening = .hangs } }
        try harness.connection.connect()
        let first = await self.wait(for: harness.connection, harness)
        try harness.connection.disconnect()
        #expect(self.code(await first.value) == .disconnected)
        try harness.connection.connect()
        let second = await self.wait(for: harness.connection, harness)
        harness.connection.end(nil)
        #expect(self.code(await second.value) == .released)
        await #expect(throws: LinkspanError.self) { try await harness.connection.connected() }
    }

    @Test
    func `a holder that gives the connection back does not wait any longer`() async throws {
        let harness = PoolHarness()
        let handler = try harness.connect()
        handler.release()
        let error = await #expect(throws: LinkspanError.self) { try await handler.connected() }
        #expect(error?.code == .released)
    }

    @Test
    func `a cancelled task ends the wait, not the attempts`() async throws {
        let harness = try Harness { _ in .init { $0.openingDelay = .seconds(1) } }
        try harness.connection.connect()
        let outcome = await self.wait(for: harness.connection, harness)
        outcome.cancel()
        #expect(self.code(await outcome.value) == .cancelled)
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.connection.state == .connected)
    }

    @Test
    func `before the first connect it throws instead of waiting for ever`() async throws {
        let harness = try Harness()
        let error = await #expect(throws: LinkspanError.self) { try await harness.connection.connected() }
        #expect(error?.code == .wrongState)
    }
}
