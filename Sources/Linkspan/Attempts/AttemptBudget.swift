internal import LinkspanRuntime

/// The allowance of attempts that all connections of a manager share.
protocol AttemptAllowance: Sendable {
    /// The shortest time between two attempts of one connection.
    var spacing: Duration { get }
    /// Takes a token for an attempt; see ``AttemptBudget/reserve(now:)``.
    func reserve(now: Moment) -> Moment
    /// Counts an attempt that the app asked for.
    func spend(now: Moment)
    /// Takes back a token for an attempt that will not be made.
    func giveBack()
}

/// A bucket of tokens, one for each attempt.
///
/// It hands out turns instead of refusing: a caller that finds it empty gets the time of its token. Turns are
/// given in the order in which they are asked for.
struct AttemptBudget: Sendable {
    private let limits: AttemptLimits
    /// The time that the bucket takes to get one more token.
    private var interval = Duration.zero
    /// The time that it takes to fill.
    private var depth = Duration.zero
    /// The instant at which it will be full if nobody takes anything more; past when it is full.
    private var fullAt: Moment?

    init(_ limits: AttemptLimits) {
        self.limits = limits
        self.fit(connections: 0)
    }

    /// Follows the number of connections that share the bucket.
    mutating func fit(connections: Int) {
        let share = self.limits.growsWithPool ? connections / 4 : 0
        self.interval = .seconds(1) / max(1, self.limits.perSecond, share)
        // With the share of a tenth of a second on top, no more than 6 % of a large pool begin within that time.
        self.depth = self.interval * max(1, share > self.limits.burst ? connections / 30 : self.limits.burst)
    }

    /// Takes a token, perhaps one that is still to come.
    ///
    /// - Returns: when it is there: `now` or later.
    mutating func reserve(now: Moment) -> Moment {
        let fullAt = max(self.fullAt ?? now, now) + self.interval
        self.fullAt = fullAt
        return max(now, fullAt - self.depth)
    }

    /// Takes a token if there is one.
    mutating func spend(now: Moment) {
        let fullAt = max(self.fullAt ?? now, now) + self.interval
        if fullAt - self.depth <= now { self.fullAt = fullAt }
    }

    /// Puts back a token that was taken and not used, for those who come later.
    mutating func giveBack() { self.fullAt = self.fullAt.map { $0 - self.interval } }
}
