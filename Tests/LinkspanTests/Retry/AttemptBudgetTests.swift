@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("The budget of attempts", .timeLimit(.minutes(5)))
struct AttemptBudgetTests {
    private let start = Moment.now

    private func seconds(_ instants: [Moment]) -> [Double] {
        instants.map { self.start.duration(to: $0) / .seconds(1) }
    }

    @Test
    func `ten at once, then five a second, in the order of asking`() {
        var budget = AttemptBudget(AttemptLimits())
        let turns = self.seconds((0..<20).map { _ in budget.reserve(now: self.start) })
        #expect(turns == Array(repeating: 0, count: 10) + (1...10).map { Double($0) / 5 })
        let later = self.start + .seconds(2)
        #expect(budget.reserve(now: later) == later + .milliseconds(200), "nothing was saved up meanwhile")
        let muchLater = self.start + .seconds(60)
        #expect((0..<10).allSatisfy { _ in budget.reserve(now: muchLater) == muchLater })
        #expect(budget.reserve(now: muchLater) == muchLater + .milliseconds(200), "no more than the burst is saved up")
    }

    @Test
    func `attempts by the app are counted without a debt`() {
        var budget = AttemptBudget(AttemptLimits())
        for _ in 0..<7 { budget.spend(now: self.start) }
        #expect((0..<3).allSatisfy { _ in budget.reserve(now: self.start) == self.start })
        #expect(budget.reserve(now: self.start) == self.start + .milliseconds(200))
        budget = AttemptBudget(AttemptLimits())
        for _ in 0..<1_000 { budget.spend(now: self.start) }
        #expect(budget.reserve(now: self.start) == self.start + .milliseconds(200))
        let muchLater = self.start + .seconds(60)
        for _ in 0..<10 { budget.spend(now: muchLater) }
        #expect(budget.reserve(now: muchLater) == muchLater + .milliseconds(200), "a rest saves up none of them")
    }

    @Test
    func `returned turns go to later attempts`() {
        var budget = AttemptBudget(AttemptLimits(perSecond: 1, burst: 1))
        _ = budget.reserve(now: self.start)
        for _ in 0..<100 { _ = budget.reserve(now: self.start) }
        for _ in 0..<100 { budget.giveBack() }
        #expect(budget.reserve(now: self.start) == self.start + .seconds(1))
    }

    @Test
    func `limits below one count as one`() {
        var budget = AttemptBudget(AttemptLimits(perSecond: 0, burst: -3))
        #expect(budget.reserve(now: self.start) == self.start)
        #expect(budget.reserve(now: self.start) == self.start + .seconds(1))
    }

    /// When the connections of one process begin their attempts, in seconds from the loss of their server, which is back
    /// after `outage`; attempts before that fail.
    private func attempts(of connections: Int, outage: Double, seed: UInt64) -> [Double] {
        var generator = SeededGenerator(seed: seed)
        var budget = AttemptBudget(AttemptLimits())
        budget.fit(connections: connections)
        var due: [(time: Double, connection: Int, failures: Int, isAdmitted: Bool)] = []
        func delay(_ failures: Int, at time: Double) -> Double {
            let question = RetryQuestion(
                error: .lost, failures: failures, outage: .seconds(time),
                random: Double.random(in: 0..<1, using: &generator))
            return (RetryPolicy.standard.delay(for: question) ?? .zero) / .seconds(1)
        }
        for connection in 0..<connections { due.append((delay(1, at: 0), connection, 1, false)) }
        var begun: [Double] = []
        while let earliest = due.indices.min(by: { due[$0].time < due[$1].time }) {
            let next = due.remove(at: earliest)
            if !next.isAdmitted {
                let turn = self.start.duration(to: budget.reserve(now: self.start + .seconds(next.time))) / .seconds(1)
                if turn > next.time {
                    due.append((turn, next.connection, next.failures, true))
                    continue
                }
            }
            begun.append(next.time)
            guard next.time < outage else { continue }
            let wait = max(1, delay(next.failures + 1, at: next.time))
            due.append((next.time + wait, next.connection, next.failures + 1, false))
        }
        return begun
    }

    @Test(arguments: [100, 400, 1_000], [0, 0.3, 1.0, 10, 60])
    func `the connections of one process are all back within five seconds, and spread`(
        connections: Int, outage: Double
    ) {
        for seed in 1...(connections > 100 ? 1 : 10) {
            let returns = self.attempts(of: connections, outage: outage, seed: UInt64(seed))
                .filter { $0 >= outage }.map { $0 - outage }.sorted()
            #expect(returns.count == connections)
            #expect(returns[connections * 99 / 100] <= 5)
            let peak = returns.indices.map { first in
                returns[first...].prefix { $0 < returns[first] + 0.1 }.count
            }.max()
            // A sixteenth, and what one connection needs.
            #expect((peak ?? 0) <= connections * 6 / 100 + 1)
        }
    }

    // MARK: In the pool

    /// A manager with connections that are up, to servers that go away together.
    private func lost(_ count: Int, _ attempts: AttemptLimits = AttemptLimits()) throws -> (
        PoolHarness, [ConnectionHandler]
    ) {
        let harness = PoolHarness(attempts: attempts) { _ in .perfect }
        let handlers = try (0..<count).map { try harness.connect("scripted://server\($0)") }
        harness.scheduler.advance(by: .seconds(30))
        #expect(harness.transport.openPeers.count == count, "what the app asks for is not held up")
        for peer in harness.transport.openPeers { peer.drop() }
        harness.scheduler.settle()
        return (harness, handlers)
    }

    @Test
    func `connections that go down together come back ten at once, then a quarter of them a second`() throws {
        let (harness, handlers) = try self.lost(40)
        // All first attempts are due after one second, since chance is fixed.
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.transport.openPeers.count == 10)
        for second in 1...3 {
            harness.scheduler.advance(by: .seconds(1))
            #expect(harness.transport.openPeers.count == 10 + 10 * second)
        }
        #expect(handlers.allSatisfy { $0.state == .connected })
    }

    @Test
    func `first connects take tokens from those who try again`() throws {
        let harness = PoolHarness { $0 <= 10 ? .refusing(.lost) : .perfect }
        let handlers = try (0..<10).map { try harness.connect("scripted://server\($0)") }
        // Within a second five tokens have come back.
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.transport.openPeers.count == 5)
        harness.scheduler.advance(by: .seconds(1))
        #expect(handlers.allSatisfy { $0.state == .connected })
    }

    @Test
    func `waiting for a turn is like waiting for an attempt, and leaving returns the turn`() throws {
        let (harness, handlers) = try self.lost(40)
        harness.scheduler.advance(by: .seconds(1))
        let waiting = handlers.filter { $0.state == .reconnecting }
        #expect(waiting.count == 30)
        guard case .waiting(let until, 1)? = waiting.last?.status.progress else {
            Issue.record("it does not wait")
            return
        }
        #expect(harness.scheduler.now.duration(to: until) == .seconds(3))
        for handler in waiting { try handler.disconnect() }
        // Nobody is left before it, so one that fails now has no one to wait for: three seconds are its second wait.
        harness.transport.openPeers.first?.drop()
        harness.scheduler.advance(by: .seconds(3))
        #expect(harness.transport.openPeers.count == 10)
    }

    @Test
    func `a connection makes no two attempts within a second by itself`() throws {
        let harness = PoolHarness { _ in .refusing(.lost) }
        let handler = try harness.connect("scripted://server") {
            $0.retry = RetryPolicy { _ in .nanoseconds(1) }
        }
        harness.scheduler.advance(by: .milliseconds(9_100))
        #expect(harness.transport.peers.count == 10)
        // Nor do signals make it.
        for _ in 0..<100 { harness.manager.signal(.pathAvailable) }
        harness.scheduler.advance(by: .milliseconds(899))
        #expect(harness.transport.peers.count == 10)
        // The app does.
        try handler.disconnect()
        try handler.connect()
        harness.scheduler.settle()
        #expect(harness.transport.peers.count == 11)
    }

    @Test
    func `the budget grows with the number of connections by default`() {
        var budget = AttemptBudget(AttemptLimits())
        budget.fit(connections: 1_000)
        let turns = self.seconds((0..<283).map { _ in budget.reserve(now: self.start) })
        #expect(turns.prefix(33).allSatisfy { $0 == 0 })
        #expect(turns.last == 1)
        budget = AttemptBudget(AttemptLimits(growsWithPool: false))
        budget.fit(connections: 1_000)
        #expect(self.seconds((0..<15).map { _ in budget.reserve(now: self.start) }).last == 1)
    }

    @Test
    func `limits are a matter of the manager`() throws {
        let (harness, handlers) = try self.lost(40, AttemptLimits(perSecond: 2, burst: 40))
        harness.scheduler.advance(by: .seconds(1))
        #expect(handlers.allSatisfy { $0.state == .connected })
        withExtendedLifetime(harness) {}
    }

    @Test
    func `a budget that does not grow is the same for any number of connections`() {
        var budget = AttemptBudget(AttemptLimits(perSecond: 1, burst: 0, growsWithPool: false))
        budget.fit(connections: 90)
        #expect(budget.reserve(now: self.start) == self.start)
        #expect(budget.reserve(now: self.start) == self.start + .seconds(1))
    }
}
