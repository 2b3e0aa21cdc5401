#if OUTBOX
/// Running totals of the rows in the file, updated with each change.
struct OutboxTotals: Sendable, Hashable {
    /// The number of the latest row.
    var lastNumber: UInt64 = 0
    /// The place of the latest outcome.
    var lastEnded: Int64 = 0
    /// Deliveries that wait.
    var waiting = 0
    /// Their bytes.
    var waitingBytes = 0
    /// No delivery with a lower number waits, so that the oldest is found without passing outcomes again.
    var oldestNumber: UInt64 = 0
    /// About how much was written to the log, since the file was opened.
    var writtenBytes = 0
    /// Outcomes that are not confirmed.
    var outcomes = 0
    /// Those among them that were set aside.
    var setAside = 0
    /// Events that were received and are not confirmed.
    var received = 0
    /// The number of the latest of them.
    var lastReceived: Int64 = 0
    /// The events of each account that came without room since the last one that had some.
    var missed: [String?: Int] = [:]
}
#endif
