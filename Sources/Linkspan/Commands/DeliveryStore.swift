/// Keeps deliveries so that they outlive the process: the seam for a durable outbox.
///
/// A connection with a store gives it each delivery before accepting it, and has it forget the delivery once that has
/// its outcome. What is left when the process ends is sent by the next one, with the same key, before anything new.
///
/// One store serves one connection. Its methods are called from any thread, outside all locks.
///
/// Compared by instance: holders of one connection pass on the same store.
public protocol DeliveryStore: AnyObject, Sendable {
    /// What an earlier process left, the oldest first.
    ///
    /// Called when the connection is made: it must return quickly. Of two connections that are made for one URL at a
    /// time one is let go unused.
    func kept() -> [StoredDelivery]

    /// Keeps a delivery; when it returns, the delivery must survive.
    ///
    /// - Throws: anything; the delivery is then refused with code `notKept`.
    func keep(_ delivery: StoredDelivery) throws

    /// Forgets a delivery that has its outcome, or was not accepted after all.
    func forget(key: String)
}

/// A delivery as a ``DeliveryStore`` keeps it.
public struct StoredDelivery: Sendable, Hashable {
    /// What it is known by, here and at the server.
    public var key: String
    /// What it is kept in order with.
    public var orderingKey: String
    /// The name of the event.
    public var event: String
    /// The arguments.
    public var payload: Payload

    /// Makes a delivery.
    public init(key: String, orderingKey: String, event: String, payload: Payload) {
        self.key = key
        self.orderingKey = orderingKey
        self.event = event
        self.payload = payload
    }
}
