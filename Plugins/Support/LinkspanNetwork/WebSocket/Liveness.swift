internal import LinkspanRuntime

/// Decides whether a server lives, by the bytes received since the last ping and those queued before it.
///
/// As long as those leave, a silent server need not be dead.
struct Liveness: Sendable {
    /// The time of the latest arrival, parts of messages included.
    private(set) var lastHeard: Moment?
    /// Whether anything has arrived since the last ping.
    private(set) var isAlive = true
    /// The time of the ping that the server has not answered yet; nil when there is none.
    private var pinged: Moment?
    /// The bytes before the ping that had not left at the last look.
    private var ahead = 0
    /// The bytes of messages that were written after it.
    private var behind = 0

    mutating func heard(at now: Moment) {
        self.isAlive = true
        self.lastHeard = now
    }

    /// A message was written.
    @inline(__always)
    mutating func wrote(_ count: Int) { self.behind &+= count }

    /// From now on something has to arrive.
    mutating func expectsSign() { self.isAlive = false }

    /// A ping is written, before which so many bytes wait.
    mutating func pings(behind pending: Int, at now: Moment) {
        (self.ahead, self.behind) = (pending, 0)
        self.pinged = now
    }

    /// Whether a ping has not been answered.
    var isAwaitingPong: Bool { self.pinged != nil }

    /// The time that the answer to the ping took; nil when none is awaited.
    mutating func takeRoundTrip(now: Moment) -> Duration? { self.pinged.take().map { now - $0 } }

    /// Whether some of the bytes queued ahead of the ping have been sent since the last call.
    ///
    /// `pending` is the number of bytes that are unsent now.
    mutating func hasMoved(pending: Int) -> Bool {
        let former = self.ahead
        self.ahead = max(0, pending - self.behind)
        return self.ahead < former
    }
}
