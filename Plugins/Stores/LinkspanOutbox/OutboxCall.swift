#if OUTBOX
/// A call that waits for the next transaction.
struct OutboxCall {
    enum Kind {
        /// Adds a row: refused when the disk is as good as full.
        case keep
        /// Fails at once when the file is not to be had: a connection waits for it.
        case glance
        /// Anything else: may use the reserve.
        case other
    }

    let kind: Kind
    /// Performs the call in a transaction, and returns a closure that answers the caller after the commit.
    ///
    /// Called once more after a transaction that failed, so it changes nothing but the table; and on the queue of the
    /// database, so it touches nothing else that is confined to the outbox's executor.
    let perform: (inout OutboxTable) throws -> () -> Void
    /// Fails the call for its caller.
    let fail: (OutboxError) -> Void

    init<Answer>(
        _ kind: Kind, perform body: @escaping (inout OutboxTable) throws -> Answer,
        answer: @escaping (Result<Answer, OutboxError>) -> Void
    ) {
        self.kind = kind
        self.perform = { table in
            let value = try body(&table)
            return { answer(.success(value)) }
        }
        self.fail = { answer(.failure($0)) }
    }
}
#endif
