/// Reports once what became of an event whose emitter waits for it.
typealias Receipt = @Sendable (BarrierReport.Fate) -> Void

/// An event on its way to one receiver.
struct Letter: Sendable {
    var stamped: Stamped<any LifecycleEvent>
    var retention: Retention
    /// Whether it replaces a waiting letter about the same state.
    var isTotal = false
    var receipt: Receipt?

    /// The state of which it holds the running total.
    var totalKey: RetentionKey? { self.isTotal ? self.retention.keptKey : nil }
}
