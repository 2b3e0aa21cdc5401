/// The connection as the executor of tasks; see ``ConnectionHandler/executor``.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension PooledConnection: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.core.run { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
