@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("Back-pressure")
struct BackpressureTests {
    private func makeHarness(capacity: Int) throws -> Harness {
        let harness = try Harness { _ in .init { $0.capacity = capacity } }
        try harness.enter(.connected)
        return harness
    }

    @Test
    func `a full link gets nothing more until it has room, and the order holds`() throws {
        let harness = try self.makeHarness(capacity: 3)
        for number in 0..<10 { try harness.perform(.send, "\(number)") }
        harness.scheduler.settle()
        #expect(harness.transport.sent.count == 3)
        #expect(harness.connection.status.waitingCommands == 7)
        let peer = try #require(harness.peers.first)
        while harness.connection.status.waitingCommands > 0 || harness.arrived.count < 10 {
            let before = harness.arrived.count
            peer.read()
            harness.scheduler.settle()
            try #require(harness.arrived.count > before, "nothing moves any more")
        }
        #expect(harness.arrived == (0..<10).map(String.init))
        #expect(harness.recorder.endedLabels == (0..<10).map(String.init))
    }

    @Test
    func `a flush stops at a full link and goes on behind it`() throws {
        let harness = try Harness { _ in .init { $0.capacity = 4 } }
        for number in 0..<700 { try harness.perform(.send, "\(number)") }
        try harness.enter(.connected)
        #expect(harness.transport.sent.count == 4)
        while harness.arrived.count < 700 {
            try #require(harness.peers.first).read()
            harness.scheduler.settle()
        }
        #expect(harness.arrived == (0..<700).map(String.init))
    }

    @Test
    func `the buffer's bound holds against a server that does not read`() throws {
        let harness = try Harness(
            options: { $0.buffer = BufferLimits(commands: 5) }, script: { _ in .init { $0.capacity = 1 } })
        try harness.enter(.connected)
        for number in 0..<6 { try harness.perform(.send, "\(number)") }
        let error = #expect(throws: LinkspanError.self) { try harness.perform(.send, "more") }
        #expect(error?.code == .bufferFull)
    }

    @Test
    func `commands accepted while the link had room are not refused when it becomes full`() throws {
        let harness = try Harness(
            options: { $0.buffer = BufferLimits(commands: 5) }, script: { _ in .init { $0.capacity = 3 } })
        try harness.enter(.connected)
        // From one job of the executor, so that all have been taken before the connection looks at the first.
        harness.scheduler.executor.execute {
            for number in 0..<20 { #expect(throws: Never.self) { try harness.perform(.send, "\(number)") } }
        }
        harness.scheduler.settle()
        #expect(harness.connection.status.waitingCommands == 17)
        #expect(throws: LinkspanError.self) { try harness.perform(.send, "more") }
        while harness.arrived.count < 20 {
            let before = harness.arrived.count
            try #require(harness.peers.first).read()
            harness.scheduler.settle()
            try #require(harness.arrived.count > before, "nothing moves any more")
        }
        #expect(harness.arrived == (0..<20).map(String.init))
        #expect(harness.recorder.endedLabels == (0..<20).map(String.init))
    }

    @Test
    func `a volatile send is left out while the link is full`() throws {
        let harness = try self.makeHarness(capacity: 1)
        try harness.perform(.send, "a")
        try harness.perform(.send, "b", isVolatile: true)
        #expect(harness.failure("b")?.certainty == .notSent)
    }

    @Test
    func `requests run out of time while the server does not read`() throws {
        let harness = try self.makeHarness(capacity: 1)
        try harness.perform(.request, "under way", timeout: .seconds(5))
        try harness.perform(.request, "waiting", timeout: .seconds(5))
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.failure("under way")?.certainty == .unknown)
        #expect(harness.failure("waiting")?.certainty == .notSent)
    }

    @Test
    func `a link that was full when it was lost does not hold up the next one`() throws {
        let harness = try Harness { number in
            .init { if number == 1 { ($0.capacity, $0.dropsAfter) = (1, .seconds(1)) } }
        }
        try harness.enter(.connected)
        for event in ["a", "b", "c"] { try harness.perform(.send, event) }
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.arrived == ["b", "c"], "a was accepted by the link that was lost")
    }

    @Test
    func `deliveries wait for room as well`() throws {
        let harness = try self.makeHarness(capacity: 1)
        harness.transport.onMessage { $0.reply() }
        for event in ["a", "b", "c"] { try harness.perform(.deliver(orderingKey: event), event) }
        harness.scheduler.settle()
        for _ in 0..<3 {
            try #require(harness.peers.first).read()
            harness.scheduler.settle()
        }
        #expect(harness.arrived == ["a", "b", "c"])
        #expect(harness.recorder.endedLabels == ["a", "b", "c"])
    }
}
