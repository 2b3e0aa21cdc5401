internal import LinkspanRuntime

/// The session that the next link resumes, and what the store knows of the account's sessions.
struct SessionMemory {
    /// The latest link, which knows how the next one resumes its session.
    private var latestLink: (any Link)?
    /// Whether the next link resumes from what was published last: the latest was given up, and goes past messages that
    /// are not delivered any more.
    private var isFixed = false
    /// The text that the next link resumes from, as last published.
    private(set) var published: Secret?
    /// Whether that may be out of date.
    var isStale = false
    /// Nil without a store.
    private var stored: Boxed<StoredSessions>?

    init(resuming former: Secret?, isStored: Bool) {
        self.published = former
        if isStored { self.stored = Boxed(StoredSessions()) }
    }

    /// A link begins to open; nil when the connection leaves the session behind.
    mutating func follow(_ link: (any Link)?) {
        self.latestLink = link
        self.isFixed = false
    }

    /// The latest link was told to end.
    mutating func linkEnded(politely: Bool) { self.isFixed = !politely }

    /// The text that the next link resumes from.
    ///
    /// - Parameters:
    ///   - isLeft: whether the connection was left on purpose, or given up for good.
    ///   - isReleased: whether there is no next link.
    ///   - kept: the text that the app kept of a former process, for the first link.
    /// - Returns: the text; nil for a new session.
    func resumption(isLeft: Bool, isReleased: Bool, kept: @autoclosure () -> Secret?) -> Secret? {
        guard let latest = self.latestLink else {
            return isReleased ? nil : kept() ?? self.stored?.value.former?.resumption
        }
        guard !isLeft, let resumption = latest.resumption else { return nil }
        return self.isFixed ? self.published : resumption
    }

    /// Notes what is published from now on.
    ///
    /// - Returns: whether that is another text than before.
    mutating func publish(_ resumption: Secret?) -> Bool {
        guard resumption != self.published else { return false }
        self.published = resumption
        return true
    }
}

// MARK: - The store

extension SessionMemory {
    /// Whether an attempt has to wait for what the store knows of the account's last session.
    mutating func mustWait(_ attempt: PendingAttempt) -> Bool { self.stored?.value.mustWait(attempt) ?? false }

    /// The store has answered; one session that cannot be read is as good as none.
    ///
    /// - Returns: the attempt that has waited.
    mutating func storeAnswered(_ former: StoredSession?) -> PendingAttempt? { self.stored?.value.answered(former) }

    /// The connection leaves the server of the former session, whose secret is for that server alone.
    mutating func forgetFormer() { self.stored?.value.forgetFormer() }

    /// Belongs to another account, or to the same one again: then the store has the session that was just left.
    mutating func reopen(isSameAccount: Bool) {
        self.stored?.value = StoredSessions()
        if isSameAccount { self.forgetFormer() }
    }

    /// The next report to the store about the present session; nil for none.
    mutating func next(now: Moment, isTimer: Bool = false) -> StoredSessions.Next? {
        if isTimer { self.stored?.value.hasTimer = false }
        return self.stored?.value.next(StoredSession(resumption: self.published), now: now)
    }
}
