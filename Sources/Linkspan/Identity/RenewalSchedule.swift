package import LinkspanRuntime

/// Decides when credentials are renewed ahead of their expiry.
///
/// Pure: time and chance come in, decisions go out.
package struct RenewalSchedule: Sendable {
    /// The times of renewals, and the number of attempts; schedules share one.
    package final class Timing: Sendable {
        /// The time before the expiry, and the part of it that is added by chance; nil for a fifth of the lifetime and
        /// up to a twentieth more.
        let lead: (least: Duration, spread: Duration)?
        /// The number of failures in a row that ends it; nil when only the expiry does.
        let maxFailures: Int?
        let backoff: Backoff

        /// Renews in the last quarter of the lifetime, and tries until it ends.
        static let standard = Timing()

        private init() { (self.lead, self.maxFailures, self.backoff) = (nil, nil, Backoff()) }

        /// Renews so long before the expiry, but not in the first half of the lifetime, and tries so often.
        package init(lead: Duration, spread: Duration, maxFailures: Int) {
            self.lead = (lead, spread)
            self.maxFailures = maxFailures
            self.backoff = Backoff(
                firstSpread: .seconds(1), initial: .seconds(2), earlyCap: .seconds(60), cap: .seconds(60))
        }

        fileprivate func renewal(of issued: IssuedCredentials, random: Double) -> Moment? {
            guard let lead = self.lead else { return issued.renewal(random: random) }
            guard let expiry = issued.expiry else { return nil }
            let earliest = issued.issuedAt + issued.issuedAt.duration(to: expiry) / 2
            return max(expiry - lead.least - lead.spread * random, earliest)
        }
    }

    /// The step for the owner after its timer has fired.
    package enum OnTimer: Sendable {
        /// Ask the provider.
        case ask
        /// Wait for the provider no longer; it counts as failed.
        case stopAsking
        case nothing
    }

    private enum Phase: Sendable {
        case idle
        case waiting(until: Moment, Failures?)
        case asking(until: Moment, Failures?)
    }

    /// Failures in a row, and since when.
    private struct Failures: Sendable {
        var count: Int
        var began: Moment
    }

    /// The least time between two renewals, whatever the credentials say.
    static let shortestPeriod = Duration.seconds(1)

    private let credentialDeadline: Duration
    private let timing: Timing
    private var phase = Phase.idle
    private var expiry: Moment?

    package init(credentialDeadline: Duration, timing: Timing = .standard) {
        self.credentialDeadline = credentialDeadline
        self.timing = timing
    }

    /// Whether the provider is being asked.
    package var isAsking: Bool { if case .asking = self.phase { true } else { false } }

    /// The instant at which ``timerFired(now:random:)`` is due.
    package var deadline: Moment? {
        switch self.phase {
        case .idle: nil
        case .waiting(let instant, _), .asking(let instant, _): instant
        }
    }

    /// Follows these credentials from now on; nothing is due when they do not say how long they are good.
    mutating func follow(_ issued: IssuedCredentials?, now: Moment, random: Double) {
        self.expiry = issued?.expiry
        self.wait(until: issued.flatMap { self.timing.renewal(of: $0, random: random) } ?? now, nil, now: now)
    }

    /// Follows credentials that are good for so long, counted from now.
    package mutating func follow(validFor: Duration?, now: Moment, random: Double) {
        let issued = IssuedCredentials(
            credentials: Credentials(validFor: validFor), generation: 0, issuedAt: now, reason: .first)
        self.follow(issued, now: now, random: random)
    }

    /// There is nothing to renew: nothing is due until there is.
    package mutating func stop() { self.phase = .idle }

    package mutating func timerFired(now: Moment, random: Double) -> OnTimer {
        switch self.phase {
        case .waiting(let instant, let failures) where instant <= now:
            self.phase = .asking(until: now + self.credentialDeadline, failures)
            return .ask
        case .asking(let instant, _) where instant <= now:
            self.failed(now: now, random: random)
            return .stopAsking
        case .idle, .waiting, .asking:
            return .nothing
        }
    }

    /// The provider has failed: it is asked again, unless it failed too often or the credentials expire before.
    package mutating func failed(now: Moment, random: Double) {
        guard case .asking(_, let before) = self.phase else { return }
        let failures = Failures(count: (before?.count ?? 0) + 1, began: before?.began ?? now)
        let question = RetryQuestion(
            error: LinkspanError(.credentialsUnavailable, "the credentials were not renewed"),
            failures: failures.count, outage: failures.began.duration(to: now), random: random)
        self.wait(until: now + self.timing.backoff.delay(for: question), failures, now: now)
    }

    private mutating func wait(until wanted: Moment, _ failures: Failures?, now: Moment) {
        let instant = max(wanted, now + Self.shortestPeriod)
        guard let expiry = self.expiry, self.mayAsk(at: instant, expiry, failures: failures?.count ?? 0) else {
            self.phase = .idle
            return
        }
        self.phase = .waiting(until: instant, failures)
    }

    private func mayAsk(at instant: Moment, _ expiry: Moment, failures: Int) -> Bool {
        self.timing.maxFailures.map { failures < $0 } ?? (instant < expiry)
    }
}
