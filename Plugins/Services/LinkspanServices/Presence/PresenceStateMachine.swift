/// Decides the presence that a client reports.
///
/// Pure: time comes in, announcements go out.
struct PresenceStateMachine: Sendable {
    private(set) var awayAfter: Duration
    private var isInFront = true
    private var isIdle = false
    private var isLeaving = false
    private var isUp = false
    private var lastActivity: ContinuousClock.Instant
    /// The status that the server was given over the present link.
    private var announced: PresenceService.Status?

    init(awayAfter: Duration, now: ContinuousClock.Instant) {
        self.awayAfter = awayAfter
        self.lastActivity = now
    }

    /// The status for others: nothing but offline while the connection is down.
    var status: PresenceService.Status { self.isUp ? self.wanted : .offline }

    /// The instant at which ``timerFired(now:)`` is due; nil while the user cannot become idle.
    var deadline: ContinuousClock.Instant? {
        self.isIdle || self.isLeaving || !self.isInFront ? nil : self.lastActivity + self.awayAfter
    }

    private var wanted: PresenceService.Status {
        if self.isLeaving { return .offline }
        return self.isInFront && !self.isIdle ? .online : .away
    }

    /// The status to be announced now, if any.
    private mutating func announcement() -> PresenceService.Status? {
        guard self.isUp, self.wanted != self.announced else { return nil }
        self.announced = self.wanted
        return self.wanted
    }

    /// The connection is up; a new link begins with nothing announced.
    mutating func connected() -> PresenceService.Status? {
        self.isUp = true
        self.announced = nil
        return self.announcement()
    }

    mutating func disconnected() { self.isUp = false }

    /// The user did something.
    mutating func active(now: ContinuousClock.Instant) -> PresenceService.Status? {
        self.lastActivity = max(self.lastActivity, now)
        self.isIdle = false
        return self.announcement()
    }

    /// The user sees the app again, or does not any more.
    mutating func moved(toFront isInFront: Bool, now: ContinuousClock.Instant) -> PresenceService.Status? {
        self.isInFront = isInFront
        return isInFront ? self.active(now: now) : self.announcement()
    }

    mutating func timerFired(now: ContinuousClock.Instant) -> PresenceService.Status? {
        guard let deadline = self.deadline, deadline <= now else { return nil }
        self.isIdle = true
        return self.announcement()
    }

    /// The user is going for good.
    mutating func leave() -> PresenceService.Status? {
        self.isLeaving = true
        return self.announcement()
    }

    /// Notes that an announcement was refused; it is due again with the next event.
    mutating func refused(_ status: PresenceService.Status) {
        if self.announced == status { self.announced = nil }
    }

    mutating func change(awayAfter: Duration, now: ContinuousClock.Instant) -> PresenceService.Status? {
        self.awayAfter = awayAfter
        // A longer limit brings nobody back; a shorter one applies at once.
        return self.timerFired(now: now)
    }
}
