internal import DequeModule
internal import Linkspan
internal import LinkspanRuntime

/// The jobs of a hub, in order, on its executor.
///
/// One job of the executor runs all that have come up, and then gives each client its events together.
final class HubWork: Sendable {
    // Traffic has cases of its own, because a closure for each message costs two allocations (W13).
    enum Job: ~Copyable {
        case call(() -> Void)
        case message(OutboundMessage, from: HubPeer)
        case reply(Payload, id: UInt64, from: HubPeer)
    }

    private struct State: ~Copyable {
        // Moves its jobs, where an ordinary deque copies them (W13).
        var jobs = UniqueDeque<Job>()
        /// The queues with events to deliver after ``jobs``.
        var full: [ClientQueue] = []
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

    /// Lets `queue` deliver its events after the jobs at hand, for callers on the executor.
    func flushLater(_ queue: ClientQueue) {
        self.state.value.full.append(queue)
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
        var full: [ClientQueue] = []
        swap(&full, &self.state.value.full)
        for queue in full { queue.flush() }
        self.state.value.isScheduled = false
        if !self.state.value.jobs.isEmpty || !self.state.value.full.isEmpty { self.schedule() }
    }
}
