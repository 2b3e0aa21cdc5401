#if OUTBOX
/// Points at which the death of the process leaves different rows, for tests that kill it there.
enum OutboxStep: String, Sendable {
    /// A delivery is about to be inserted.
    case keeping
    /// A delivery is inserted, and the transaction goes on.
    case kept
    /// A delivery is committed, before its caller is informed.
    case keepCommitted
    /// An outcome is about to be recorded.
    case ending
    /// An outcome is committed, before its caller is informed.
    case endCommitted
    /// The log is about to be written into the database.
    case checkpointing
    /// The tables are being made or changed, inside a transaction.
    case migrating
    /// The disk is full, and the reserve was just deleted.
    case releasingReserve
}
#endif
