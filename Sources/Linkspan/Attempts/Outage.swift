internal import LinkspanRuntime

/// An outage of a connection, from the first failure to a link that lasts: what its next attempt is decided by.
struct Outage: Sendable {
    /// Failures in a row since the connection was last healthy.
    var failures = 0
    /// Attempts since the connection was last up.
    var attempts = 0
    /// The time of the first failure or attempt.
    var start: Moment?
    /// The shortest wait while the path is said to be away.
    var patience: Duration?
    /// Attempts in a row in which the peer broke the protocol.
    private(set) var violations = 0
    /// Whether a failed attempt has been reported.
    var isReported = false
    /// The time of the latest loss of a link over which the server had sent something, and which had not lasted.
    private var lastFlap: Moment?

    init(start: Moment? = nil) { self.start = start }

    /// Counts from now on as if nothing had failed before.
    mutating func startOver(now: Moment) {
        self.failures = 0
        self.attempts = 0
        self.violations = 0
        self.isReported = false
        self.start = now
    }

    /// A link was lost.
    mutating func noteLoss(wasHealthy: Bool, now: Moment) {
        guard wasHealthy || self.start == nil else { return }
        self.failures = 0
        self.start = now
    }

    /// A link was lost that had lasted, or that had not and over which the server had, or had not, sent something.
    mutating func noteFlap(wasHealthy: Bool, hasSpoken: Bool, now: Moment) {
        // One link that ends before its first answer changes nothing: the server's next time up may be longer.
        if wasHealthy { self.lastFlap = nil } else if hasSpoken { self.lastFlap = now }
    }

    /// Counts a failure: of an attempt, or of a link that was up.
    ///
    /// While the path is away, failures say nothing about the server.
    mutating func fail(_ error: LinkspanError, isAttempt: Bool) {
        self.failures = self.patience == nil ? self.failures + 1 : 1
        self.violations = isAttempt && error.code == .protocolViolation ? self.violations + 1 : 0
    }

    /// Reports a failed attempt; nil for one that was given up because of the device or the app.
    mutating func report(_ error: LinkspanError, isFinal: Bool, isUnproven: Bool) -> AttemptFailure? {
        guard error.code != .pathLost, error.code != .suspended else { return nil }
        defer { self.isReported = true }
        return AttemptFailure(error: error, isFirst: !self.isReported, isFinal: isFinal, isUnproven: isUnproven)
    }

    /// Whether the server comes and goes, and has not asked for patience.
    func isFlapping(_ error: LinkspanError, within period: Duration, now: Moment) -> Bool {
        guard let lastFlap = self.lastFlap, lastFlap.duration(to: now) < period else { return false }
        return error.code != .serverUnavailable && error.retryAfter == nil && self.patience == nil
    }
}
