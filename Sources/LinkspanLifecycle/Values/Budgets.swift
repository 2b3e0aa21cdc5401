/// Time limits for the calls to a service, and the capacity of its mailbox.
public struct Budgets: Sendable, Hashable {
    /// The time limit of a start.
    public var start: Duration
    /// The time limit for one event, one question, or one health check.
    public var handle: Duration
    /// The time limit of a quiesce.
    public var quiesce: Duration
    /// The time limit of a stop.
    public var stop: Duration
    /// The number of events that may wait for the service; beyond it, the oldest are dropped and counted.
    ///
    /// Running totals do not count: the newest replaces an older one of the same connection and event.
    public var mailbox: Int

    /// Makes budgets; every part may be left out.
    public init(
        start: Duration = .seconds(10), handle: Duration = .seconds(1), quiesce: Duration = .seconds(2),
        stop: Duration = .seconds(3), mailbox: Int = 1024
    ) {
        self.start = start
        self.handle = handle
        self.quiesce = quiesce
        self.stop = stop
        self.mailbox = mailbox
    }
}

/// Whether a registry may start without a service.
public enum Importance: String, Sendable, Hashable {
    /// If the service does not start, the start of the registry fails and is rolled back.
    case required
    /// If the service does not start, the registry runs without it.
    case optional
}

/// The urgency of calls to a service.
public enum Urgency: Sendable, Hashable {
    /// As urgent as the application's own threads; for services that do something for a user.
    case normal
    /// Behind all other threads; for services that only watch, such as metrics, so that watching slows nothing down.
    case utility
}

/// The health of a service.
public enum Health: Sendable, Hashable {
    /// Working.
    case healthy
    /// Working in part; the text names the missing part.
    case degraded(String)
    /// Not working; the text is the reason.
    case unhealthy(String)
}
