#if OUTBOX
internal import LinkspanRuntime

/// The contents of an outbox in numbers, readable at any time on any thread.
final class OutboxGauge: Sendable {
    private struct Reading: Sendable {
        var totals: OutboxTotals?
        /// Why no delivery is accepted.
        var refusal: OutboxError?
        /// The age of the oldest delivery, and the time of its measurement.
        var oldest: (age: Duration, at: ContinuousClock.Instant)?
        var measuredAt: ContinuousClock.Instant?
    }

    /// The latest reading, written on the outbox's executor and read from any thread.
    private let reading = Lock(Reading())

    /// Publishes the totals of the file.
    ///
    /// - Parameters:
    ///   - totals: the totals.
    ///   - refusal: why no delivery is accepted, if none is.
    ///   - now: the present.
    ///   - oldest: measures the age of the oldest delivery that waits; called at most once a second.
    /// - Returns: whether it was measured.
    func show(
        _ totals: OutboxTotals, refusal: OutboxError?, at now: ContinuousClock.Instant, oldest: () -> Duration?
    ) -> Bool {
        var next = self.reading.withLock { $0 }
        let isDue = next.measuredAt.map { now - $0 >= .seconds(1) } ?? true
        (next.totals, next.refusal) = (totals, refusal)
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

    /// Publishes why the file cannot be used.
    func show(_ refusal: OutboxError) { self.reading.withLock { $0.refusal = refusal } }

    /// The present age of the oldest waiting delivery; nil when none waits.
    var oldest: Duration? { self.reading.withLock { $0.oldest }.map { $0.age + ($0.at.duration(to: .now)) } }

    /// The number of deliveries that wait; nil before the file was first opened.
    var waitingCount: Int? { self.reading.withLock { $0.totals?.waiting } }

    /// The counts of deliveries in the file, and why no more are accepted; nil before the file was first opened.
    var summary: String? {
        let (totals, refusal) = self.reading.withLock { ($0.totals, $0.refusal) }
        let sentences = [totals.map(self.summary), refusal.map { "The outbox accepts no deliveries: \($0)." }]
        return sentences.contains { $0 != nil } ? sentences.compactMap(\.self).joined(separator: " ") : nil
    }

    private func summary(_ totals: OutboxTotals) -> String {
        var parts = ["\(totals.waiting) that \(totals.waiting == 1 ? "waits" : "wait")"]
        if let oldest = self.oldest { parts[0] += ", the oldest for \(oldest.components.seconds) s" }
        if totals.setAside > 0 { parts.append("\(totals.setAside) set aside") }
        if totals.outcomes > totals.setAside { parts.append("\(totals.outcomes - totals.setAside) to be confirmed") }
        return "The outbox holds deliveries: \(parts.joined(separator: ", "))."
    }
}
#endif
