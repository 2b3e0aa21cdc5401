@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("The retry policy")
struct RetryPolicyTests {
    private func question(
        _ failures: Int, outage: Duration = .zero, random: Double = 0, error: LinkspanError = .lost
    ) -> RetryQuestion {
        RetryQuestion(error: error, failures: failures, outage: outage, random: random)
    }

    private func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }

    @Test(arguments: [
        (1, 0.0...2.0), (2, 2.0...4.0), (3, 2.5...5.0), (4, 2.5...5.0), (50, 2.5...5.0), (Int.max, 2.5...5.0),
    ])
    func `waits grow, are spread, and are capped`(failures: Int, range: ClosedRange<Double>) {
        let backoff = Backoff()
        #expect(self.seconds(backoff.delay(for: self.question(failures, random: 0))) == range.lowerBound)
        let longest = self.seconds(backoff.delay(for: self.question(failures, random: 0.999_999)))
        #expect(longest <= range.upperBound && longest > range.upperBound - 0.001)
    }

    @Test
    func `a question is about the first failure of an outage that has just begun, without jitter`() {
        let question = RetryQuestion(error: .lost)
        #expect(question.failures == 1 && question.outage == .zero && question.random == 0)
    }

    @Test
    func `after the first minute of an outage the cap is higher`() {
        let backoff = Backoff()
        #expect(backoff.delay(for: self.question(50, outage: .seconds(59), random: 0)) == .milliseconds(2_500))
        #expect(backoff.delay(for: self.question(50, outage: .seconds(60), random: 0)) == .seconds(15))
    }

    @Test(arguments: [
        LinkspanError.Code.tlsFailed, .redirected, .unsupportedVersion, .refused, .closedByServer, .credentialsRefused,
    ])
    func `permanent causes stop`(code: LinkspanError.Code) {
        let error = LinkspanError(code, "permanent")
        #expect(RetryPolicy.standard.delay(for: self.question(1, error: error)) == nil)
    }

    @Test(arguments: [
        LinkspanError.Code.connectionLost, .nameNotResolved, .heartbeatMissed, .serverUnavailable, .timedOut,
        .protocolViolation, .credentialsUnavailable,
    ])
    func `passing causes are tried again for ever`(code: LinkspanError.Code) {
        let error = LinkspanError(code, "passing")
        #expect(RetryPolicy.standard.delay(for: self.question(1_000_000, error: error)) != nil)
    }

    @Test
    func `Retry-After is a lower bound, with the spread on top`() {
        let busy = LinkspanError(.serverUnavailable, "busy", retryAfter: .seconds(20))
        #expect(RetryPolicy.standard.delay(for: self.question(1, error: busy)) == .seconds(20))
        let spread = self.question(1, random: 0.5, error: busy)
        #expect(RetryPolicy.standard.delay(for: spread) == .seconds(21), "others were told the same")
        let soon = LinkspanError(.serverUnavailable, "busy", retryAfter: .milliseconds(1))
        #expect(RetryPolicy.standard.delay(for: self.question(1, random: 0.5, error: soon)) == .milliseconds(1_001))
    }

    @Test
    func `Retry-After is respected up to five minutes, or as configured`() {
        let year = LinkspanError(.serverUnavailable, "busy", retryAfter: .seconds(31_536_000))
        #expect(RetryPolicy.standard.delay(for: self.question(1, error: year)) == .seconds(300))
        let patient = RetryPolicy.backoff(retryAfterCap: .seconds(3_600))
        #expect(patient.delay(for: self.question(1, error: year)) == .seconds(3_600))
    }

    @Test
    func `a server that comes and goes is tried again as soon as the spacing of attempts allows`() {
        var question = self.question(7, outage: .seconds(600), random: 0.5)
        question.isFlapping = true
        #expect(RetryPolicy.standard.delay(for: question) == .milliseconds(125))
    }

    @Test
    func `the defaults of a back-off are those of the standard policy`() {
        #expect(RetryPolicy.backoff().description == RetryPolicy.standard.description)
    }

    @Test
    func `a limit ends it`() {
        let policy = RetryPolicy.backoff(limit: 3)
        #expect(policy.delay(for: self.question(3)) != nil)
        #expect(policy.delay(for: self.question(4)) == nil)
        #expect(RetryPolicy.never.delay(for: self.question(1)) == nil)
    }

    @Test
    func `a total time ends it, whatever the number of attempts`() {
        let policy = RetryPolicy.backoff(total: .seconds(90))
        #expect(policy.delay(for: self.question(1_000, outage: .seconds(89))) != nil)
        #expect(policy.delay(for: self.question(1, outage: .seconds(90))) == nil)
        #expect(policy.description != RetryPolicy.backoff(total: .seconds(91)).description)
    }

    @Test
    func `the second attempt follows the first at once where the policy says so, and later ones are spaced`() throws {
        let start = Moment.now
        var options = ConnectionOptions()
        options.retry = RetryPolicy { _ in .zero }
        var attempts = Attempts(
            AttemptRules(sharedOptions: Boxed(options), spacing: .seconds(1), canRenewCredentials: false))
        func fail(_ epoch: UInt64, at now: Moment) -> Moment? {
            _ = attempts.credentialsFailed(epoch: epoch, .lost, now: now, random: 0)
            return attempts.deadline
        }
        func begin(at now: Moment) {
            attempts.admit(at: now)
            _ = attempts.timerFired(now: now, random: 0, openingStage: nil)
        }
        _ = try attempts.connect(now: start)
        #expect(fail(1, at: start) == start)
        begin(at: start)
        #expect(fail(2, at: start) == start + .seconds(1))
        begin(at: start + .seconds(1))
        // A link that is lost at once is no failed attempt.
        _ = attempts.credentialsArrived(epoch: 3, now: start + .seconds(1))
        _ = attempts.linkOpened(epoch: 3, LinkInfo(), now: start + .seconds(1))
        _ = attempts.linkClosed(epoch: 3, .lost, now: start + .seconds(1), random: 0)
        #expect(attempts.deadline == start + .seconds(2))
    }

    @Test(arguments: [Duration.seconds(1), nil])
    func `a policy may call its connection, which happens after the decision`(delay: Duration?) throws {
        let connection = Lock<PooledConnection?>(nil)
        let harness = try Harness(
            options: {
                $0.retry = RetryPolicy { _ in
                    try? connection.withLock { $0 }?.disconnect()
                    return delay
                }
            }, script: { _ in .perfect })
        connection.withLock { $0 = harness.connection }
        try harness.enter(.connected)
        harness.peers.first?.drop()
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.connection.state == .disconnected)
        #expect(harness.peers.count == 1)
        connection.withLock { $0 = nil }
    }

    struct Herd: Sendable, CustomTestStringConvertible {
        let outage: Double
        let peakIn100ms: Double
        let median: Double
        let p99: Double

        var testDescription: String { "\(self.outage) s" }
    }

    @Test(arguments: [
        Herd(outage: 1, peakIn100ms: 0.06, median: 2, p99: 4), Herd(outage: 10, peakIn100ms: 0.06, median: 2, p99: 5),
        Herd(outage: 60, peakIn100ms: 0.06, median: 2.5, p99: 5),
    ])
    func `G7 and G8: ten thousand clients that lose their server together come back soon, and spread`(herd: Herd) {
        var generator = SeededGenerator(seed: 20_26)
        var attempts: [Double] = []
        var recoveries: [Double] = []
        for _ in 0..<10_000 {
            var now = 0.0
            var failures = 1
            while true {
                let question = self.question(
                    failures, outage: .seconds(now), random: Double.random(in: 0..<1, using: &generator))
                guard let delay = RetryPolicy.standard.delay(for: question) else { break }
                now += self.seconds(delay)
                attempts.append(now)
                if now >= herd.outage { break }
                failures += 1
            }
            recoveries.append(now - herd.outage)
        }
        recoveries.sort()
        let peaks = Dictionary(grouping: attempts) { Int($0 * 10) }.mapValues { Double($0.count) / 10_000 }
        let peak = peaks.values.max() ?? 1
        let busiestSecond =
            Dictionary(grouping: attempts) { Int($0) }.values.map { Double($0.count) / 10_000 }.max() ?? 1
        #expect(peak <= herd.peakIn100ms)
        #expect(busiestSecond <= 0.52)
        #expect(recoveries[5_000] <= herd.median)
        #expect(recoveries[9_900] <= herd.p99)
        print(
            "outage \(herd.outage) s: peak \(peak) in 100 ms, \(busiestSecond) in 1 s, "
                + "p50 \(recoveries[5_000]) s, p99 \(recoveries[9_900]) s")
    }
}
