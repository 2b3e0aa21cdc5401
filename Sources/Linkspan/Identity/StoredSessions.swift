internal import LinkspanRuntime

/// The knowledge of the store about an account's last session, and the reports to it about the present one.
struct StoredSessions {
    /// The next step for the present session.
    enum Next {
        case keep(StoredSession)
        /// The store got a resumption text a short while ago.
        case wait(until: Moment)
    }

    /// The interval between reports to the store, as long as messages come.
    ///
    /// Messages received within this time before the process dies come again in the next one.
    static let interval = Duration.seconds(1)

    /// The time that an attempt waits for the store.
    static let patience = Duration.seconds(2)

    private var isKnown = false
    /// The attempt that waits for the store's answer.
    private var attempt: PendingAttempt?
    /// The session that the first attempt resumes.
    private(set) var former: StoredSession?
    /// Whether the connection has moved since, to a server that does not have the session of the former process.
    private var hasMoved = false
    private var kept: StoredSession?
    private var mayKeepAt: Moment?
    /// Whether a timer runs for what is to be kept next.
    var hasTimer = false

    /// Whether an attempt has to wait for what the store knows; it is held then, in place of a former one.
    mutating func mustWait(_ attempt: PendingAttempt) -> Bool {
        guard !self.isKnown else { return false }
        self.attempt = attempt
        return true
    }

    /// The store has answered.
    ///
    /// - Returns: the attempt that has waited.
    mutating func answered(_ former: StoredSession?) -> PendingAttempt? {
        guard !self.isKnown else { return nil }
        self.isKnown = true
        self.former = self.hasMoved ? nil : former
        return self.attempt.take()
    }

    /// The connection leaves the server of the former session, whose secret is for that server alone.
    mutating func forgetFormer() {
        self.hasMoved = true
        self.former = nil
    }

    /// The next step for the present session; nil for nothing.
    mutating func next(_ session: StoredSession, now: Moment) -> Next? {
        guard session != self.kept else { return nil }
        if let due = self.mayKeepAt, now < due {
            guard !self.hasTimer else { return nil }
            self.hasTimer = true
            return .wait(until: due)
        }
        self.kept = session
        self.mayKeepAt = now + Self.interval
        return .keep(session)
    }
}
