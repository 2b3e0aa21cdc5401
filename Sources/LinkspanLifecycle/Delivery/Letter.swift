/// An event on its way to one receiver.
struct Letter: Sendable {
    var stamped: Stamped<any LifecycleEvent>
    var retention: Retention
    /// Whether it replaces a waiting letter about the same state.
    var isTotal = false

    /// The state of which it holds the running total.
    var totalKey: RetentionKey? { self.isTotal ? self.retention.keptKey : nil }
}
