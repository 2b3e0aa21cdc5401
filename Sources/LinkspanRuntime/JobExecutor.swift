/// Runs jobs one at a time, in the order in which they were given to it.
///
/// A connection and its links live on one executor: their state is touched there and nowhere else, so it needs no lock.
public protocol JobExecutor: AnyObject, Sendable {
    /// Whether the calling thread is running one of this executor's jobs.
    var isCurrent: Bool { get }

    /// Runs `job` after all jobs given before it; from any thread, also from inside a job.
    ///
    /// A job given from inside a job runs after that one has returned.
    func execute(_ job: @escaping @Sendable () -> Void)

    /// Runs `job` at `instant` or soon after it, in real time, unless it is cancelled.
    @discardableResult
    func schedule(at instant: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void) -> any ScheduledWork
}

extension JobExecutor {
    /// Runs `job` by the timers of ``SystemScheduler``, for executors without timers of their own.
    @discardableResult
    public func schedule(
        at instant: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        // Not weakly: an object that has ever been referred to weakly is retained and released more slowly.
        SystemScheduler.shared.schedule(at: instant) { self.execute(job) }
    }
}
