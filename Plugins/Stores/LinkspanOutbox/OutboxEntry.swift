public import Linkspan

/// A row of an outbox, as apps and support tools see it.
public struct OutboxEntry: Sendable {
    /// The delivery, with its outcome if it has one.
    ///
    /// Its payload is empty when the server has it.
    public var delivery: StoredDelivery
    /// How it ended; nil while it waits.
    public var fate: DeliveryFate?
    /// How long ago it was kept.
    public var age: Duration
    /// Its place among the outcomes.
    var place: Int64
}

/// What an outbox holds at one moment.
public struct OutboxFigures: Sendable, Hashable {
    /// Deliveries that wait.
    public var waiting: Int
    /// Their bytes.
    public var bytes: Int
    /// How long the oldest of them has waited; nil when none does.
    public var oldest: Duration?
    /// Outcomes that are not confirmed.
    public var outcomes: Int
    /// Those among them that were set aside.
    public var setAside: Int
    /// Events that were received and are not confirmed.
    public var received: Int
}
