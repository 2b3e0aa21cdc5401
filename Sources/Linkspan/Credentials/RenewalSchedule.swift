/// Decides when a connection that is up has its credentials renewed.
///
/// Pure: time and chance come in, decisions go out.
struct RenewalSchedule: Sendable {
    /// What the owner does when its timer has fired.
    enum OnTimer: Sendable {
        /// Ask the provider.
        case ask
        /// Wait for the provider no longer; it counts as failed.
        case stopAsking
        case nothing
    }

    private enum Phase: Sendable {
        case idle
        case waiting(until: ContinuousClock.Instant, Outage?)
        case asking(until: ContinuousClock.Instant, Outage?)
    }

    /// Failures in a row, and since when.
    private struct Outage: Sendable {
        var failures: Int
        var began: ContinuousClock.Instant
    }

    /// The least time between two renewals, whatever the credentials say.
    static let shortestPeriod = Duration.seconds(1)

    private let credentialDeadline: Duration
    private let backoff = Backoff()
    private var phase = Phase.idle
    private var expiry: ContinuousClock.Instant?

    init(credentialDeadline: Duration) { self.credentialDeadline = credentialDeadline }

    /// When ``timerFired(now:random:)`` is due.
    var deadline: ContinuousClock.Instant? {
        switch self.phase {
        case .idle: nil
        case .waiting(let instant, _), .asking(let instant, _): instant
        }
    }

    /// Follows these credentials from now on; nothing is due when they do not say how long they are good.
    mutating func follow(_ issued: IssuedCredentials?, now: ContinuousClock.Instant, random: Double) {
        self.expiry = issued?.expiry
        self.wait(until: issued?.renewal(random: random) ?? now, nil, now: now)
    }

    /// The link has ended: nothing is due until the next one.
    mutating func stop() {
        self.phase = .idle
        self.expiry = nil
    }

    mutating func timerFired(now: ContinuousClock.Instant, random: Double) -> OnTimer {
        switch self.phase {
        case .waiting(let instant, let outage) where instant <= now:
            self.phase = .asking(until: now + self.credentialDeadline, outage)
            return .ask
        case .asking(let instant, _) where instant <= now:
            self.failed(now: now, random: random)
            return .stopAsking
        case .idle, .waiting, .asking:
            return .nothing
        }
    }

    /// The provider has failed: it is asked again before the credentials expire, or not at all.
    mutating func failed(now: ContinuousClock.Instant, random: Double) {
        guard case .asking(_, let before) = self.phase else { return }
        let outage = Outage(failures: (before?.failures ?? 0) + 1, began: before?.began ?? now)
        let question = RetryQuestion(
            error: LinkspanError(.credentialsUnavailable, "the credentials were not renewed"),
            failures: outage.failures, outage: outage.began.duration(to: now), random: random)
        self.wait(until: now + self.backoff.delay(for: question), outage, now: now)
    }

    private mutating func wait(until wanted: ContinuousClock.Instant, _ outage: Outage?, now: ContinuousClock.Instant) {
        let instant = max(wanted, now + Self.shortestPeriod)
        guard let expiry = self.expiry, instant < expiry else {
            self.phase = .idle
            return
        }
        self.phase = .waiting(until: instant, outage)
    }
}
