/// Decides after each loss or failed attempt whether and when to try again.
///
/// A value: no clock, no randomness of its own. Standard policies of the same values are the same to the pool; one that
/// is made of a function is the same only as its copies.
public struct RetryPolicy: Sendable {
    /// The policy and its values; of a function, which instance it is.
    package let description: String
    private let decision: @Sendable (RetryQuestion) -> Duration?

    private init(_ description: String, _ decide: @escaping @Sendable (RetryQuestion) -> Duration?) {
        self.description = description
        self.decision = decide
    }

    /// Makes a policy from a function.
    ///
    /// An attempt begins at least a second after the one before, except for the second one of an outage when the first one
    /// has failed and the answer is zero.
    ///
    /// The function is asked about every error: ``LinkspanError/isPermanent`` tells those that another attempt cannot help, and
    /// ``LinkspanError/retryAfter`` what the server asks for.
    ///
    /// - Parameter decide: after which time to try again; nil not to try again until the app asks.
    public init(_ decide: @escaping @Sendable (RetryQuestion) -> Duration?) {
        self.init("function (\(InstanceNumber()))", decide)
    }

    /// What the policy decides, for tests and for policies that change another.
    ///
    /// ```swift
    /// let policy = RetryPolicy.backoff(limit: 3)
    /// let lost = LinkspanError(.connectionLost, "lost")
    /// #expect(policy.delay(for: RetryQuestion(error: lost, failures: 4)) == nil)
    /// ```
    ///
    /// - Parameter question: what has happened, and the random number that counts.
    /// - Returns: the time after which to try again; nil not to.
    public func delay(for question: RetryQuestion) -> Duration? { self.decision(question) }

    /// Never retries automatically.
    public static let never = Self("never") { _ in nil }

    /// Tries again for ever, unless the cause is permanent:
    /// ``backoff(firstSpread:initial:earlyCap:earlyPeriod:cap:retryAfterCap:limit:total:)`` with its defaults.
    package static let standard = Self.backoff(Backoff())

    /// Tries again, ever more seldom and at times that spread a herd of clients, unless the cause is permanent.
    ///
    /// The first attempt falls anywhere in `firstSpread`, so that clients that lost their server together do not return
    /// together. Later ones wait `v/2 + U(0, v/2)`, where `v` doubles from `initial` up to a cap; the jitter stays at
    /// the cap.
    ///
    /// - Parameters:
    ///   - firstSpread: the span over which first attempts are spread.
    ///   - initial: the longest second wait, which doubles from then on. Shorter ones than by default would fall among
    ///     the first attempts of others, and double the load of a server that comes back.
    ///   - earlyCap: the cap while the outage is younger than `earlyPeriod`.
    ///   - earlyPeriod: how long an outage counts as young.
    ///   - cap: the cap afterwards.
    ///   - retryAfterCap: the longest `Retry-After` that is respected.
    ///   - limit: attempts in a row after which it stops; nil for no limit.
    ///   - total: the age of an outage from which on it stops; nil for no limit.
    /// - Returns: the policy.
    public static func backoff(
        firstSpread: Duration = .seconds(2), initial: Duration = .seconds(4), earlyCap: Duration = .seconds(5),
        earlyPeriod: Duration = .seconds(60), cap: Duration = .seconds(30), retryAfterCap: Duration = .seconds(300),
        limit: Int? = nil, total: Duration? = nil
    ) -> Self {
        .backoff(
            Backoff(
                firstSpread: firstSpread, initial: initial, earlyCap: earlyCap, earlyPeriod: earlyPeriod, cap: cap,
                retryAfterCap: retryAfterCap, limit: limit, total: total))
    }

    /// Tries again on a schedule, unless the cause is permanent.
    package static func backoff(_ backoff: Backoff) -> Self {
        let values =
            "backoff \(backoff.firstSpread) \(backoff.initial) \(backoff.earlyCap)/\(backoff.earlyPeriod) "
            + "\(backoff.cap) retry after \(backoff.retryAfterCap) limit \(backoff.limit.map(String.init) ?? "none") "
            + "total \(backoff.total.map { "\($0)" } ?? "none")"
        return Self(values) { question in
            guard !question.error.isPermanent else { return nil }
            if let limit = backoff.limit, question.failures > limit { return nil }
            if let total = backoff.total, question.outage >= total { return nil }
            let delay = backoff.delay(for: question)
            guard let wanted = question.error.retryAfter else { return delay }
            // Spread, too: the server may have told many clients the same.
            return max(delay, min(wanted, backoff.retryAfterCap) + backoff.firstSpread * question.random)
        }
    }
}

/// The facts from which a ``RetryPolicy`` decides.
public struct RetryQuestion: Sendable {
    /// The error with which the link ended or could not be opened.
    public var error: LinkspanError
    /// Failures in a row since the connection was last healthy, this one included; from 1.
    public var failures: Int
    /// The time the connection has been down.
    public var outage: Duration
    /// Whether the server is flapping: its last link delivered messages and was lost soon after.
    package var isFlapping = false
    /// A random number from 0 up to 1, for jitter.
    public var random: Double
    /// The rounds over all endpoints that have failed, of a connection with several; nil of others.
    package var rounds: Int?

    /// Makes a question, for ``RetryPolicy/delay(for:)``.
    ///
    /// - Parameters:
    ///   - error: the error with which the link ended or could not be opened.
    ///   - failures: failures in a row, from 1.
    ///   - outage: the time the connection has been down.
    ///   - random: a random number from 0 up to 1.
    public init(error: LinkspanError, failures: Int = 1, outage: Duration = .zero, random: Double = 0) {
        self.error = error
        self.failures = failures
        self.outage = outage
        self.random = random
    }
}

/// The schedule of ``RetryPolicy/backoff(firstSpread:initial:earlyCap:earlyPeriod:cap:retryAfterCap:limit:total:)``.
package struct Backoff: Sendable, Hashable {
    package var firstSpread = Duration.seconds(2)
    package var initial = Duration.seconds(4)
    package var earlyCap = Duration.seconds(5)
    package var earlyPeriod = Duration.seconds(60)
    package var cap = Duration.seconds(30)
    package var retryAfterCap = Duration.seconds(300)
    package var limit: Int?
    package var total: Duration?

    /// The schedule of `RetryPolicy.standard`.
    package static let standard = Self()

    /// The wait before the next attempt, or, of a server that comes and goes, how it is spread.
    func delay(for question: RetryQuestion) -> Duration {
        // The attempts add their spacing to it, in `Attempts.afterFailure`.
        guard !question.isFlapping else { return self.firstSpread / 8 * question.random }
        let failures = question.rounds ?? question.failures
        guard failures > 1 else { return self.firstSpread * question.random }
        let cap = question.outage < self.earlyPeriod ? self.earlyCap : self.cap
        // Doubling more than 20 times is beyond every sensible cap and would overflow.
        let step = min(cap, self.initial * (1 << min(failures - 2, 20)))
        return step / 2 + (step / 2) * question.random
    }
}

extension LinkspanError {
    /// Whether trying again with the same settings cannot help.
    public var isPermanent: Bool {
        let permanent: Set<Code> = [
            .invalidURL, .invalidConfiguration, .tlsFailed, .proxyRefused, .redirected, .unsupportedVersion, .refused,
            .closedByServer, .credentialsRefused,
        ]
        return permanent.contains(self.code)
    }
}
