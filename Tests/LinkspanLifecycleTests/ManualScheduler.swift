internal import LinkspanRuntime
internal import LinkspanTesting

/// A virtual clock for code that runs on threads of its own.
///
/// Work that is due already when it is scheduled runs at once, because no test moves the clock again for it.
struct ManualScheduler: Scheduler {
    private struct Done: ScheduledWork {
        func cancel() {}
    }

    private let clock = VirtualScheduler()

    var now: ContinuousClock.Instant { self.clock.now }

    /// How many deadlines wait.
    var pending: Int { self.clock.pendingCount }

    func schedule(
        at instant: ContinuousClock.Instant, on executor: (any JobExecutor)?, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        guard instant <= self.clock.now else { return self.clock.schedule(at: instant, on: executor, work) }
        if let executor { executor.execute(work) } else { work() }
        return Done()
    }

    /// Moves the clock and runs what comes due, in order, each at its own time.
    func advance(by duration: Duration) { self.clock.advance(by: duration) }
}
