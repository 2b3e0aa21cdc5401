/// Finds out whose listeners hold the connection's executor for too long.
///
/// The first messages of a read are timed one by one, the others in groups, which costs them next to nothing. After a
/// group that took too long, all messages of the next reads are timed one by one.
struct SlowListeners {
    /// The number of messages at the beginning of each read that are timed one by one, and of those in a group.
    static let timedMessages = 8
    /// The number of reads after a slow one in which all messages are timed one by one.
    private static let timedReads = 1_000
    /// Names come from the server.
    private static let nameLimit = 256

    /// The time limit for the listeners of a message, or of several.
    var limit: Duration
    /// The number of the next reads, of those with many messages, in which each message is timed.
    private var readsToTime = 0
    /// The events that have been logged.
    private var told: Set<String> = []
    /// The events of the messages since the clock was last read, without immediate repetitions.
    private var group: [String] = []
    /// Whether a warning that names several events has been logged, which is done once.
    ///
    /// After each slow group the messages of the next reads are timed one by one, which finds the event.
    private var hasToldGroup = false

    init(limit: Duration) { self.limit = limit }

    /// Whether to read the clock when the listeners of this message have returned; the first message of a read is 1.
    func times(_ message: Int) -> Bool {
        message <= Self.timedMessages || self.readsToTime > 0 || message.isMultiple(of: Self.timedMessages)
    }

    /// The listeners of one message have returned.
    ///
    /// - Returns: the event, if this is to be told: once for each.
    mutating func heard(_ event: String, in time: Duration) -> String? {
        guard time > self.limit, self.told.count < Self.nameLimit else { return nil }
        return self.told.insert(event).inserted ? event : nil
    }

    /// Adds an event of a group; most have the name of the one before.
    mutating func add(_ event: LinkEvent) {
        switch event {
        case .message(let message): self.add(name: message.event)
        case .reply, .failed: self.add(name: "(a reply)")
        case .opened, .changed, .writable, .closed: ()
        }
    }

    // In place, because a copy of the name would cost each message a retain and a release.
    @inline(__always)
    private mutating func add(name: borrowing String) {
        if self.group.isEmpty || self.group[self.group.count - 1] != name { self.group.append(copy name) }
    }

    /// The listeners of a group of messages have returned.
    ///
    /// - Returns: what to tell: the event, if all are of one. Otherwise the events, once, because the next time each message is
    ///   timed.
    mutating func heardGroup(in time: Duration) -> String? {
        defer { self.group.removeAll(keepingCapacity: true) }
        guard time > self.limit, let first = self.group.first else { return nil }
        guard self.group.contains(where: { $0 != first }) else { return self.heard(first, in: time) }
        self.readsToTime = Self.timedReads
        defer { self.hasToldGroup = true }
        var events: [String] = []
        for event in self.group where !events.contains(event) { events.append(event) }
        return self.hasToldGroup ? nil : "one of " + events.joined(separator: ", ")
    }

    /// A read with more messages than are always timed one by one is over.
    mutating func longReadEnded() { if self.readsToTime > 0 { self.readsToTime -= 1 } }
}
