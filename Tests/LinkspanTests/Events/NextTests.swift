@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Waiting for one message", .timeLimit(.minutes(1)))
struct NextTests {
    /// The text of the next message, or the code of the error.
    private func next(_ connection: any Connection, timeout: Duration? = nil) async -> String {
        do throws(LinkspanError) {
            return try await connection.next("number", timeout: timeout).payload.text
        } catch {
            return error.code.rawValue
        }
    }

    private func emit(_ harness: Harness, _ number: Int) {
        harness.peers.last?.emit("number", .json("\(number)"))
        harness.scheduler.settle()
    }

    /// What is left for the next listener.
    private func held(_ harness: Harness) throws -> [String] {
        try harness.connection.on("number") { harness.recorder.note($0.payload.text) }
        harness.scheduler.settle()
        return harness.recorder.notes
    }

    @Test
    func `the oldest held message is returned, or the next to come`() async throws {
        let harness = try Harness.connected()
        for number in 1...2 { self.emit(harness, number) }
        for number in 1...2 { #expect(await self.next(harness.connection) == "\(number)") }
        let timers = harness.scheduler.pendingCount
        let wait = Task { await self.next(harness.connection, timeout: .seconds(100)) }
        await harness.scheduler.pending(atLeast: timers + 1)
        self.emit(harness, 3)
        #expect(await wait.value == "3")
        #expect(harness.scheduler.pendingCount == timers)
        #expect(try self.held(harness) == [])
    }

    @Test
    func `a cancelled task takes no held message`() async throws {
        let harness = try Harness.connected()
        self.emit(harness, 1)
        let go = Promise<Void>()
        let wait = Task {
            await go.value
            return await self.next(harness.connection)
        }
        wait.cancel()
        go.fulfill()
        #expect(await wait.value == "cancelled")
        #expect(try self.held(harness) == ["1"])
    }

    /// A harness with a wait that has just run out of time, and a message behind that.
    ///
    /// On the main actor, so that the waiting task cannot take its listener off between the two.
    @MainActor
    private func late(others: Int) async throws -> (harness: Harness, waits: [Task<String, Never>]) {
        let harness = try Harness { _ in .init { $0.delayToClient = { .seconds(5) } } }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(5))
        let timers = harness.scheduler.pendingCount
        var waits = [Task { await self.next(harness.connection, timeout: .seconds(5)) }]
        for _ in 0..<others { waits.append(Task { await self.next(harness.connection, timeout: .seconds(100)) }) }
        await harness.scheduler.pending(atLeast: timers + waits.count)
        harness.peers.first?.emit("number", .json("1"))
        harness.scheduler.advance(by: .seconds(5))
        return (harness, waits)
    }

    @Test
    @MainActor
    func `a message that comes right behind the timeout stays for the next listener`() async throws {
        let (harness, waits) = try await self.late(others: 0)
        #expect(await waits[0].value == "timedOut")
        #expect(try self.held(harness) == ["1"])
    }

    @Test
    @MainActor
    func `a message that one wait gave up goes to those that still wait`() async throws {
        let (harness, waits) = try await self.late(others: 2)
        #expect(await waits[0].value == "timedOut")
        for wait in waits.dropFirst() { #expect(await wait.value == "1") }
        #expect(try self.held(harness) == [])
    }

    @Test
    @MainActor
    func `a message beside a lasting listener is not held for a wait that gave up`() async throws {
        let harness = try Harness.connected()
        try harness.connection.on("number") { harness.recorder.note($0.payload.text) }
        let timers = harness.scheduler.pendingCount
        let wait = Task { await self.next(harness.connection, timeout: .seconds(5)) }
        await harness.scheduler.pending(atLeast: timers + 1)
        harness.scheduler.advance(by: .seconds(5))
        self.emit(harness, 1)
        #expect(await wait.value == "timedOut")
        #expect(harness.recorder.notes == ["1"])
    }

    @Test
    func `it ends with the listening, and with the holder`() async throws {
        let harness = PoolHarness()
        let handler = try harness.connect()
        harness.scheduler.settle()
        for code in ["cancelled", "released"] {
            let timers = harness.scheduler.pendingCount
            let wait = Task { await self.next(handler, timeout: .seconds(100)) }
            await harness.scheduler.pending(atLeast: timers + 1)
            if code == "cancelled" { handler.off("number") } else { handler.release() }
            #expect(await wait.value == code)
        }
    }
}
