internal import CoreMetrics

/// What an outbox tells swift-metrics, all accounts together.
struct OutboxMeters {
    private let waiting = Gauge(label: "linkspan_outbox_waiting")
    private let bytes = Gauge(label: "linkspan_outbox_bytes")
    private let outcomes = Gauge(label: "linkspan_outbox_outcomes")
    private let commit = Timer(label: "linkspan_outbox_commit_time")
    private let setAside = Gauge(label: "linkspan_outbox_set_aside")
    private let oldest = Gauge(label: "linkspan_outbox_oldest_seconds")
    private let received = Gauge(label: "linkspan_outbox_received")
    private let retries = Counter(label: "linkspan_outbox_retries_total")
    private let failures = Counter(label: "linkspan_outbox_failures_total")

    /// Tells of a commit.
    func committed(_ totals: OutboxTotals, in time: Duration) {
        self.waiting.record(totals.waiting)
        self.bytes.record(totals.waitingBytes)
        self.outcomes.record(totals.outcomes)
        self.setAside.record(totals.setAside)
        self.received.record(totals.received)
        let (seconds, attoseconds) = time.components
        self.commit.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// Tells how long the oldest delivery has waited; nil when none does.
    func aged(_ age: Duration?) { self.oldest.record(age.map { $0 / .seconds(1) } ?? 0) }

    /// Tells of deliveries that are sent again: an earlier process left them, or the app has asked for it.
    func retried(_ count: Int) { if count > 0 { self.retries.increment(by: count) } }

    /// Tells of a call that failed.
    func failed() { self.failures.increment() }
}
