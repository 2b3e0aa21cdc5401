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
}
