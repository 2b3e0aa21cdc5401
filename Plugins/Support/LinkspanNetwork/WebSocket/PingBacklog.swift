/// The bytes that a ping waits behind: as long as they leave, a silent server need not be dead.
struct PingBacklog: Sendable {
    /// The bytes before the ping that had not left at the last look.
    private var ahead = 0
    /// The bytes of messages that were written behind it.
    private var behind = 0

    /// Begins with a ping, before which so many bytes wait.
    mutating func begin(pending: Int) { (self.ahead, self.behind) = (pending, 0) }

    /// A message was written.
    @inline(__always)
    mutating func wrote(_ count: Int) { self.behind &+= count }

    /// Whether some of the bytes queued ahead of the ping have been sent since the last call.
    ///
    /// `pending` is the number of bytes that are unsent now.
    mutating func hasMoved(pending: Int) -> Bool {
        let former = self.ahead
        self.ahead = max(0, pending - self.behind)
        return self.ahead < former
    }
}
