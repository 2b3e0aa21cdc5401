/// Finds out whose listeners hold the connection's executor for too long.
///
/// A read is timed as a whole, which costs its messages next to nothing. Only after one that took too long are the
/// messages of the next reads timed one by one.
struct SlowListeners {
    /// The number of reads after a slow one in which messages are timed one by one.
    private static let timedReads = 1_000
    /// Names come from the server.
    private static let nameLimit = 256

    /// The time limit for the listeners of a message, or of a read.
    var limit: Duration
    /// The number of the next reads in which each message is timed.
    private var readsToTime = 0
    /// The events that have been told.
    private var told: Set<String> = []

    init(limit: Duration) { self.limit = limit }

    /// Whether messages are timed one by one.
    var timesEach: Bool { self.readsToTime > 0 }

    /// The listeners of one message have returned.
    ///
    /// - Returns: whether this is to be told: once for an event.
    mutating func heard(_ event: String, in time: Duration) -> Bool {
        guard time > self.limit, self.told.count < Self.nameLimit else { return false }
        return self.told.insert(event).inserted
    }

    /// The listeners of several messages have returned.
    mutating func heardSeveral(in time: Duration) {
        if time > self.limit { self.readsToTime = Self.timedReads } else if self.timesEach { self.readsToTime -= 1 }
    }
}
