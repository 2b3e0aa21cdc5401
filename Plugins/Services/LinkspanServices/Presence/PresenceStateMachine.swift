/// Whether a user is there.
public enum PresenceStatus: String, Sendable, Hashable, Codable {
    /// There.
    case online
    /// Connected, and not looking.
    case away
    /// Not there.
    case offline
}

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
    private var announced: PresenceStatus?

    init(awayAfter: Duration, now: ContinuousClock.Instant) {
        self.awayAfter = awayAfter
        self.lastActivity = now
    }

    /// The status for others: nothing but offline while the connection is down.
    var status: PresenceStatus { self.isUp ? self.wanted : .offline }

    /// The instant at which ``timerFired(now:)`` is due; nil while the user cannot become idle.
    var deadline: ContinuousClock.Instant? {
        self.isIdle || self.isLeaving || !self.isInFront ? nil : self.lastActivity + self.awayAfter
    }

    private var wanted: PresenceStatus {
        if self.isLeaving { return .offline }
        return self.isInFront && !self.isIdle ? .online : .away
    }

    /// The status to be announced now, if any.
    private mutating func announcement() -> PresenceStatus? {
        guard self.isUp, self.wanted != self.announced else { return nil }
        self.announced = self.wanted
        return self.wanted
    }

    /// The connection is up; a new link begins with nothing announced.
    mutating func connected() -> PresenceStatus? {
        self.isUp = true
        self.announced = nil
        return self.announcement()
    }

    mutating func disconnected() { self.isUp = false }

    /// The user did something.
    mutating func active(now: ContinuousClock.Instant) -> PresenceStatus? {
        self.lastActivity = max(self.lastActivity, now)
        self.isIdle = false
        return self.announcement()
    }

    /// The user sees the app again, or does not any more.
    mutating func moved(toFront isInFront: Bool, now: ContinuousClock.Instant) -> PresenceStatus? {
        self.isInFront = isInFront
        return isInFront ? self.active(now: now) : self.announcement()
    }

    mutating func timerFired(now: ContinuousClock.Instant) -> PresenceStatus? {
        guard let deadline = self.deadline, deadline <= now else { return nil }
        self.isIdle = true
        return self.announcement()
    }

    /// The user is going for good.
    mutating func leave() -> PresenceStatus? {
        self.isLeaving = true
        return self.announcement()
    }

    /// The service starts again, with a connection whose state is not known yet.
    mutating func arrive() { (self.isLeaving, self.isUp) = (false, false) }

    /// Notes that an announcement was refused; it is due again with the next event.
    mutating func refused(_ status: PresenceStatus) {
        if self.announced == status { self.announced = nil }
    }

    mutating func change(awayAfter: Duration, now: ContinuousClock.Instant) -> PresenceStatus? {
        self.awayAfter = awayAfter
        // A longer limit brings nobody back; a shorter one applies at once.
        return self.timerFired(now: now)
    }
}
