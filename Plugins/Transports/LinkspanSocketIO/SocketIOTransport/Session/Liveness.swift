internal import LinkspanRuntime

/// Decides when a silent server is given up.
///
/// Before that, the socket is read once more: perhaps this side was busy.
struct Liveness: Sendable {
    /// The time for reading what has arrived.
    private static let lastLook = Duration.milliseconds(10)

    /// The instant at which the server's silence ends the session; nil before the handshake.
    var heartbeatDeadline: Moment?
    /// The begin of the last look; nil while nothing is overdue.
    private var lookBegan: Moment?

    /// Whether the socket is read once more before the session ends.
    var isLastLook: Bool { self.lookBegan != nil }

    enum Step: Sendable {
        /// Read on for this time.
        case look(Duration)
        /// Let the session end what is overdue; `lookBegan` is set after a last look.
        case decide(lookBegan: Moment?)
    }

    /// Takes the timer's firing.
    mutating func timerFired(isOverdue: Bool, now: Moment) -> Step {
        guard isOverdue, !self.isLastLook else { return .decide(lookBegan: self.lookBegan.take()) }
        self.lookBegan = now
        return .look(Self.lastLook)
    }
}
