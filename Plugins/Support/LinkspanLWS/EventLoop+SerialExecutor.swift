extension EventLoop {
    /// Runs an actor's job on the loop's thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        self.add(.executor(UnownedJob(job)))
    }

    /// The reference that an actor returns as its executor.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// Stops the program when the current thread is not the loop's, for `assumeIsolated` in handlers.
    public func checkIsolated() {
        precondition(self.identity.isCurrent, "not on the loop's thread")
    }

    /// Whether the current thread is the loop's.
    public func isIsolatingCurrentContext() -> Bool? { self.identity.isCurrent }
}
