#if OUTBOX
internal import LinkspanRuntime

/// The contents of an outbox in numbers, readable at any time on any thread.
final class OutboxGauge: Sendable {
    private struct Reading: Sendable {
        var totals = OutboxTotals()
        /// The age of the oldest delivery, and the time of its measurement.
        var oldest: (age: Duration, at: ContinuousClock.Instant)?
        var measuredAt: ContinuousClock.Instant?
    }

    /// The latest reading, written on the outbox's executor and read from any thread.
    private let reading = Lock<Reading?>(nil)

    /// Publishes the totals of the file.
    ///
    /// - Parameters:
    ///   - totals: the totals.
    ///   - now: the present.
    ///   - oldest: measures the age of the oldest delivery that waits; called at most once a second.
    /// - Returns: whether it was measured.
    func show(_ totals: OutboxTotals, at now: ContinuousClock.Instant, oldest: () -> Duration?) -> Bool {
        let former = self.reading.withLock { $0 }
        let isDue = former?.measuredAt.map { now - $0 >= .seconds(1) } ?? true
        var next = Reading(totals: totals, oldest: former?.oldest, measuredAt: former?.measuredAt)
        if totals.waiting == 0 {
            next.oldest = nil
        } else if isDue {
            next.oldest = oldest().map { ($0, now) }
            next.measuredAt = now
        }
        let shown = next
        self.reading.withLock { $0 = shown }
        return isDue
    }

    /// The present age of the oldest waiting delivery; nil when none waits.
    var oldest: Duration? { self.reading.withLock { $0?.oldest }.map { $0.age + ($0.at.duration(to: .now)) } }

    /// The number of deliveries that wait; nil before the file was first opened.
    var waitingCount: Int? { self.reading.withLock { $0?.totals.waiting } }

    /// The counts of deliveries in the file, as one sentence; nil before the file was first opened.
    var summary: String? {
        guard let totals = self.reading.withLock({ $0?.totals }) else { return nil }
        var parts = ["\(totals.waiting) that \(totals.waiting == 1 ? "waits" : "wait")"]
        if let oldest = self.oldest { parts[0] += ", the oldest for \(oldest.components.seconds) s" }
        if totals.setAside > 0 { parts.append("\(totals.setAside) set aside") }
        if totals.outcomes > totals.setAside { parts.append("\(totals.outcomes - totals.setAside) to be confirmed") }
        return "The outbox holds deliveries: \(parts.joined(separator: ", "))."
    }
}
#endif
