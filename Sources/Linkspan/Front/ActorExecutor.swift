/// A connection as the executor of actors; see ``ConnectionHandler/unownedExecutor``.
///
/// Another object than that of tasks, because a job does not tell whether it is an actor's. It is serial also while the
/// connection moves to another executor, because a turn is made on one of the two.
final class ActorExecutor: SerialExecutor {
    private let core: CoreReference

    init(_ core: CoreReference) { self.core = core }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.core.run { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// Called by `assumeIsolated`, in a callback of the connection.
    func checkIsolated() {
        precondition(self.core.isInTurn, "the caller is neither a job nor a callback of the connection")
    }
}
