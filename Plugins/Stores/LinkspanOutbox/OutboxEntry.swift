#if OUTBOX
public import Linkspan

/// A row of an outbox, as apps and support tools see it.
public struct OutboxEntry: Sendable {
    /// The delivery, with its outcome if it has one.
    ///
    /// Its payload is empty when the server has it, or when the row cannot be read.
    public var delivery: StoredDelivery
    /// The outcome in a word; nil while the delivery waits.
    var fate: DeliveryFate?
    /// The time since the delivery was kept.
    public var age: Duration
    /// Its place among the outcomes.
    var place: Int64
}

/// The contents of an outbox in figures, at one moment.
public struct OutboxFigures: Sendable, Hashable {
    /// Deliveries that wait.
    public var waiting: Int
    /// Their bytes.
    public var bytes: Int
    /// The age of the oldest of them; nil when none waits.
    public var oldest: Duration?
    /// Outcomes that are not confirmed.
    public var outcomes: Int
    /// Those among them that were set aside.
    public var setAside: Int
    /// Events that were received and are not confirmed.
    public var received: Int
}
#endif
