internal import LinkspanRuntime

/// The pool of a manager, with the allowance of attempts that its connections share.
final class SharedPool: AttemptAllowance {
    /// The shortest time between two attempts of one connection.
    let spacing: Duration
    /// Connections, what the keeper has heard, and the allowance: between all who connect, hold and release, the app's
    /// signals, the keeper, and the executors of the connections when they make an attempt.
    private let pool: Lock<ConnectionPool>

    init(_ limits: AttemptLimits) {
        self.spacing = max(.zero, limits.spacing)
        self.pool = Lock(ConnectionPool(attempts: AttemptBudget(limits)))
    }

    func withLock<Result, Failure: Error>(
        _ body: (inout ConnectionPool) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.pool.withLock { pool throws(Failure) in try body(&pool) }
    }

    /// Takes a token for an attempt; see ``AttemptBudget/reserve(now:)``.
    func reserve(now: Moment) -> Moment {
        self.pool.withLock { pool in
            pool.attempts.fit(connections: pool.count)
            return pool.attempts.reserve(now: now)
        }
    }

    /// Counts an attempt that the app asked for.
    func spend(now: Moment) { self.pool.withLock { $0.attempts.spend(now: now) } }

    /// Takes back a token for an attempt that will not be made.
    func giveBack() { self.pool.withLock { $0.attempts.giveBack() } }
}
