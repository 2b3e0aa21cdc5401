internal import LinkspanRuntime

/// The time of a ``VirtualScheduler``, as a value.
struct VirtualClock: Sendable {
    typealias Work = @Sendable () -> Void

    var now = ContinuousClock.now
    var deadlines = DeadlineHeap<Work>()
    /// Fulfilled when something is scheduled or a job has run.
    var watchers: [Promise<Void>] = []

    mutating func takeWatchers() -> [Promise<Void>] {
        defer { self.watchers = [] }
        return self.watchers
    }
}
