/// Finds out whose listeners hold the connection's executor for too long.
///
/// A read is timed as a whole, which costs its messages next to nothing. Only after one that took too long are the
/// messages timed one by one.
struct SlowListeners {
    /// Names come from the server.
    private static let nameLimit = 256

    /// How long the listeners of a message, or of a read, may take.
    var limit: Duration
    /// Whether messages are timed one by one.
    private(set) var timesEach = false
    /// The events that have been told.
    private var told: Set<String> = []

    init(limit: Duration) { self.limit = limit }

    /// The listeners of one message have returned.
    ///
    /// - Returns: whether this is to be told: once for an event.
    mutating func heard(_ event: String, in time: Duration) -> Bool {
        guard time > self.limit, self.told.count < Self.nameLimit else { return false }
        return self.told.insert(event).inserted
    }

    /// The listeners of several messages have returned.
    mutating func heardSeveral(in time: Duration) {
        if time > self.limit { self.timesEach = true }
    }
}
