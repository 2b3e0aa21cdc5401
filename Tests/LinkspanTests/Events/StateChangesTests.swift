@testable import Linkspan
internal import LinkspanTesting
internal import Testing

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
