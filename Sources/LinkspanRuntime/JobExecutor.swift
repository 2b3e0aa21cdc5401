/// Runs jobs one at a time, in the order in which they were given to it.
///
/// A connection and its links live on one executor: their state is touched there and nowhere else, so it needs no lock.
public protocol JobExecutor: ExecutionPlace {
    /// Runs `job` after all jobs given before it; from any thread, also from inside a job.
    ///
    /// A job given from inside a job runs after that one has returned.
    func execute(_ job: @escaping @Sendable () -> Void)

    /// Runs `job` at `instant` or soon after it, in real time, unless it is cancelled.
    @discardableResult
    func schedule(at instant: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void) -> any ScheduledWork
}

extension JobExecutor {
    /// Runs `job` after the jobs given before it, for callers on the executor: unlike one given to ``execute(_:)``, it
    /// may capture state confined to the executor.
    ///
    /// Calls back after the present call instead of inside it.
    public func executeLocally(_ job: @escaping () -> Void) {
        assert(self.isCurrent, "a local job is given on the executor that runs it")
        // Unsafe because the compiler cannot see that the job is made and run on the same executor.
        nonisolated(unsafe) let job = job
        self.execute { job() }
    }

    /// Runs `job` after `delay`, in real time, unless it is cancelled, for callers on the executor: the job may capture
    /// state confined to the executor.
    @discardableResult
    public func scheduleLocally(after delay: Duration, _ job: @escaping () -> Void) -> any ScheduledWork {
        assert(self.isCurrent, "a local job is given on the executor that runs it")
        // Unsafe because the compiler cannot see that the job is made and run on the same executor.
        nonisolated(unsafe) let job = job
        return self.schedule(at: .now + delay) { job() }
    }
}

/// A place where state can be confined: an executor, or the part of one that knows whether it is running.
public protocol ExecutionPlace: AnyObject, Sendable {
    /// Whether the calling thread is running one of this executor's jobs.
    var isCurrent: Bool { get }
}

/// A scheduled call.
///
/// For classes alone, so that a reference to one takes two words.
public protocol ScheduledWork: AnyObject, Sendable {
    /// Prevents the call, unless it has begun.
    func cancel()
}
