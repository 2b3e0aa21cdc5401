/// The deliveries of one connection.
///
/// Behind a reference, because it is large, and most connections have no delivery and no store. The
/// ``CommandStateMachine`` has the only one.
final class Deliveries {
    // Their methods call nobody, so that no access meets another.
    @exclusivity(unchecked) var queues = DeliveryQueues()
    @exclusivity(unchecked) var ledger: DeliveryLedger
    /// The instants at which deliveries are sent again over the same link.
    @exclusivity(unchecked) var repeats = DeadlineQueue()

    init(isStored: Bool = false, account: String? = nil) {
        self.ledger = DeliveryLedger(isStored: isStored, account: account)
    }
}
