internal import DequeModule
internal import Linkspan
internal import LinkspanRuntime

/// The work of a hub, in order, on its executor.
///
/// One job of the executor does all that has come up, and hands each client its events together.
// Unchecked because the compiler cannot see that a job runs on the executor; debug builds check it on each access.
final class HubWork: @unchecked Sendable {
    enum Job: ~Copyable {
        case call(@Sendable () -> Void)
        case message(HubPeer, OutboundMessage)
        case reply(HubPeer, id: UInt64, Payload)
    }

    private let executor: any JobExecutor
    // Nobody is called while a job is added or taken out. The deque moves its jobs, where an ordinary one copies them.
    @exclusivity(unchecked) private var jobs = UniqueDeque<Job>()
    private var isScheduled = false
    /// Links that have events to hand over.
    private var touched: [InMemoryLink] = []

    init(executor: any JobExecutor) { self.executor = executor }

    /// Does `job` after all that was asked for before; from any thread.
    func perform(_ job: @escaping @Sendable () -> Void) {
        if self.executor.isCurrent { self.add(.call(job)) } else { self.executor.execute { self.add(.call(job)) } }
    }

    /// The same, on the executor.
    func add(_ job: consuming Job) {
        assert(self.executor.isCurrent, "reached from outside the hub's executor")
        self.jobs.append(job)
        self.schedule()
    }

    /// Schedules a link to hand over its events when the work at hand is done.
    func touch(_ link: InMemoryLink) {
        self.touched.append(link)
        self.schedule()
    }

    private func schedule() {
        guard !self.isScheduled else { return }
        self.isScheduled = true
        self.executor.execute { self.run() }
    }

    private func run() {
        var jobs = UniqueDeque<Job>()
        swap(&jobs, &self.jobs)
        while let job = jobs.popFirst() {
            switch consume job {
            case .call(let call): call()
            case .message(let peer, let message): peer.link.arrived(message, at: peer)
            case .reply(let peer, let id, let payload): peer.link.answered(id, payload, to: peer)
            }
        }
        var touched: [InMemoryLink] = []
        swap(&touched, &self.touched)
        for link in touched { link.handOver() }
        self.isScheduled = false
        if !self.jobs.isEmpty || !self.touched.isEmpty { self.schedule() }
    }
}
