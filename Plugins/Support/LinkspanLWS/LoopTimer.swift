internal import LinkspanRuntime

/// A job that a loop runs once, later, unless it is cancelled before.
final class LoopTimer: ScheduledWork {
    /// Between the loop, which runs the job, and any thread that cancels it.
    private let job: Lock<(@Sendable () -> Void)?>

    init(_ job: @escaping @Sendable () -> Void) {
        self.job = Lock(job)
    }

    /// Gives the job up, from any thread; on the loop's own thread it will not run after this.
    func cancel() { _ = self.take() }

    /// The job, once.
    func take() -> (@Sendable () -> Void)? {
        self.job.withLock { job in
            let taken = job
            job = nil
            return taken
        }
    }

    var isCancelled: Bool { self.job.withLock { $0 == nil } }
}
