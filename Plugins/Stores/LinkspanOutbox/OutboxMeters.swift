internal import CoreMetrics

/// What an outbox tells swift-metrics, all accounts together.
struct OutboxMeters {
    private let waiting = Gauge(label: "linkspan_outbox_waiting")
    private let bytes = Gauge(label: "linkspan_outbox_bytes")
    private let outcomes = Gauge(label: "linkspan_outbox_outcomes")
    private let commit = Timer(label: "linkspan_outbox_commit_time")
    private let failures = Counter(label: "linkspan_outbox_failures_total")

    /// Tells of a commit.
    func committed(_ totals: OutboxTotals, in time: Duration) {
        self.waiting.record(totals.waiting)
        self.bytes.record(totals.waitingBytes)
        self.outcomes.record(totals.outcomes)
        let (seconds, attoseconds) = time.components
        self.commit.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// Tells of a call that failed.
    func failed() { self.failures.increment() }
}
