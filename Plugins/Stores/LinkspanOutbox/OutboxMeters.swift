#if OUTBOX
internal import CoreMetrics

/// The metrics of an outbox, all accounts together.
struct OutboxMeters {
    private let totals: [(gauge: Gauge, value: any KeyPath<OutboxTotals, Int> & Sendable)]
    private let commit: Timer
    private let oldest: Gauge
    private let retries: Counter
    private let failures: Counter

    init(_ factory: any MetricsFactory) {
        let gauge = { (name: String) in Gauge(label: "linkspan_outbox_\(name)", factory: factory) }
        let counter = { (name: String) in Counter(label: "linkspan_outbox_\(name)", factory: factory) }
        self.totals = [
            (gauge("waiting"), \.waiting), (gauge("bytes"), \.waitingBytes), (gauge("outcomes"), \.outcomes),
            (gauge("set_aside"), \.setAside), (gauge("received"), \.received),
        ]
        self.commit = Timer(label: "linkspan_outbox_commit_time", factory: factory)
        self.oldest = gauge("oldest_seconds")
        self.retries = counter("retries_total")
        self.failures = counter("failures_total")
    }

    /// Records a commit.
    func committed(_ totals: OutboxTotals, in time: Duration) {
        for (gauge, value) in self.totals { gauge.record(totals[keyPath: value]) }
        let (seconds, attoseconds) = time.components
        self.commit.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// Records the age of the oldest delivery; nil when none waits.
    func aged(_ age: Duration?) { self.oldest.record(age.map { $0 / .seconds(1) } ?? 0) }

    /// Counts deliveries that are sent again: an earlier process left them, or the app has asked for it.
    func retried(_ count: Int) { if count > 0 { self.retries.increment(by: count) } }

    /// Counts a call that failed.
    func failed() { self.failures.increment() }
}
#endif
