internal import DequeModule
internal import Linkspan
internal import LinkspanRuntime

/// A client that sends to a hub.
protocol HubClient: AnyObject {
    func receive(_ message: consuming OutboundMessage)
    func answered(_ id: UInt64, _ payload: Payload)
}

/// The jobs of a hub, in order, on its executor.
///
/// One job of the executor runs all that have come up; what is put off until after them gives each client its events
/// together.
final class HubWork: Sendable {
    // Traffic has cases of its own, because a closure for each message costs two allocations (W13).
    enum Job: ~Copyable {
        case call(() -> Void)
        case message(OutboundMessage, from: any HubClient)
        case reply(Payload, id: UInt64, from: any HubClient)
    }

    private struct State: ~Copyable {
        // Moves its jobs, where an ordinary deque copies them (W13).
        var jobs = UniqueDeque<Job>()
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
        if self.executor.isCurrent { self.add(.call(job)) } else { self.executor.execute { self.add(.call(job)) } }
    }

    /// Runs `job` on the executor: at once when the caller is there.
    func confined(_ job: @escaping @Sendable () -> Void) {
        if self.executor.isCurrent { job() } else { self.perform(job) }
    }

    /// Runs `job` after all jobs that were given before it, for callers on the executor.
    func add(_ job: consuming Job) {
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
        var jobs = UniqueDeque<Job>()
        swap(&jobs, &self.state.value.jobs)
        while let job = jobs.popFirst() {
            switch consume job {
            case .call(let call): call()
            case .message(let message, let peer): peer.receive(message)
            case .reply(let payload, let id, let peer): peer.answered(id, payload)
            }
        }
        var late: [() -> Void] = []
        swap(&late, &self.state.value.late)
        for job in late { job() }
        self.state.value.isScheduled = false
        if !self.state.value.jobs.isEmpty || !self.state.value.late.isEmpty { self.schedule() }
    }
}
