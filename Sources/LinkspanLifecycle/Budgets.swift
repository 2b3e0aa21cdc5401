/// How long the registry waits for a service, and how much it keeps for it.
public struct Budgets: Sendable, Hashable {
    /// The longest start.
    public var start: Duration
    /// The longest handling of one event, answer to one question, or health check.
    public var handle: Duration
    /// The longest quiesce.
    public var quiesce: Duration
    /// The longest stop.
    public var stop: Duration
    /// How many events wait for the service; when there are more, the oldest are dropped and counted.
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
    /// Its failed start fails the start of the whole, which is then rolled back.
    case required
    /// Its failed start leaves the whole degraded.
    case optional
}

/// How urgent the calls to a service are.
public enum Urgency: Sendable, Hashable {
    /// As urgent as the application's own threads; for services that do something for a user.
    case normal
    /// Behind all other threads; for services that only watch, such as metrics, so that watching slows nothing down.
    case utility
}

/// How a service is doing.
public enum Health: Sendable, Hashable {
    /// As it should.
    case healthy
    /// Working in part; the text says what is missing.
    case degraded(String)
    /// Not working; the text says why.
    case unhealthy(String)
}
