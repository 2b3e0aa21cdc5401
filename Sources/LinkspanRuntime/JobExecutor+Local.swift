extension JobExecutor {
    /// Like ``execute(_:)``, for callers that are on the executor: the job may capture state that is confined to it.
    ///
    /// This is how a callback is made after the present call instead of within it.
    public func executeLocally(_ job: @escaping () -> Void) {
        let job = self.local(job)
        self.execute { job.run() }
    }

    /// Runs `job` after `delay` or soon after it, in real time, unless it is cancelled; for callers that are on the
    /// executor: the job may capture state that is confined to it.
    @discardableResult
    public func scheduleLocally(after delay: Duration, _ job: @escaping () -> Void) -> any ScheduledWork {
        let job = self.local(job)
        return self.schedule(at: .now + delay) { job.run() }
    }

    private func local(_ job: @escaping () -> Void) -> LocalJob {
        assert(self.isCurrent, "a local job is given on the executor that runs it")
        return LocalJob(run: job)
    }
}

// Unchecked because it is made on an executor and run by the same one, which the compiler cannot see.
private struct LocalJob: @unchecked Sendable {
    let run: () -> Void
}
