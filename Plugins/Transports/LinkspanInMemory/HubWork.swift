internal import DequeModule
internal import LinkspanRuntime

/// The jobs of a hub, in order, on its executor.
///
/// One job of the executor runs all that have come up; what is put off until after them gives each client its events
/// together.
final class HubWork: Sendable {
    private struct State {
        var jobs: Deque<() -> Void> = []
        /// The jobs that run after ``jobs``.
        var late: [() -> Void] = []
        var isScheduled = false
    }

    let executor: any JobExecutor
    private let state: Confined<State>

    init(executor: any JobExecutor) {
        self.executor = executor
        self.state = Confined(State(), to: executor)
    }

    /// Runs `job` after all jobs that were given before it; from any thread.
    func perform(_ job: @escaping @Sendable () -> Void) {
        if self.executor.isCurrent { self.add(job) } else { self.executor.execute { self.add(job) } }
    }

    /// Runs `job` on the executor: at once when the caller is there.
    func confined(_ job: @escaping @Sendable () -> Void) {
        if self.executor.isCurrent { job() } else { self.perform(job) }
    }

    /// Runs `job` after all jobs that were given before it, for callers on the executor.
    func add(_ job: @escaping () -> Void) {
        self.state.value.jobs.append(job)
        self.schedule()
    }

    /// Runs `job` after the jobs at hand, for callers on the executor.
    func addLate(_ job: @escaping () -> Void) {
        self.state.value.late.append(job)
        self.schedule()
    }

    private func schedule() {
        guard !self.state.value.isScheduled else { return }
        self.state.value.isScheduled = true
        self.executor.execute { self.run() }
    }

    private func run() {
        var jobs: Deque<() -> Void> = []
        swap(&jobs, &self.state.value.jobs)
        while let job = jobs.popFirst() { job() }
        var late: [() -> Void] = []
        swap(&late, &self.state.value.late)
        for job in late { job() }
        self.state.value.isScheduled = false
        if !self.state.value.jobs.isEmpty || !self.state.value.late.isEmpty { self.schedule() }
    }
}
