internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanRuntime

/// The parts of a running server that its connections and sessions share: its loop, options, hubs and faults.
final class ServerContext: ServerClock, Sendable {
    private struct State {
        var port: Int
        /// The jobs for the time when the server is no longer stalled.
        var held: [() -> Void] = []
        /// The jobs for bytes that are processed after a delay, and the time of the last of them.
        var delayed: [() -> Void] = []
        var delayedUntil: ContinuousClock.Instant?
    }

    let loop: any NetworkLoop
    let configuration: DevServerConfiguration
    let hubs: [String: InMemoryHub]
    private let currentFaults: @Sendable () -> ServerFaults
    /// The clock of delays.
    private let scheduler: any Scheduler
    private let state: Confined<State>

    init(
        _ configuration: DevServerConfiguration, hubs: [String: InMemoryHub], faults: Lock<ServerFaults>,
        scheduler: any Scheduler, loop: any NetworkLoop
    ) {
        self.configuration = configuration
        self.hubs = hubs
        self.currentFaults = { faults.withLock { $0 } }
        self.scheduler = scheduler
        self.loop = loop
        self.state = Confined(State(port: configuration.port), to: loop)
    }

    /// The faults that are switched on at the moment.
    var faults: ServerFaults { self.currentFaults() }

    /// Notes the port that the server listens at.
    func listens(at port: Int) { self.state.value.port = port }

    /// The URL that clients connect to, for the hub.
    func url(path: String) -> ConnectionURL? {
        let authority = self.configuration.authority(port: self.state.value.port)
        return (try? ConnectionURL("http://\(authority)\(path)")) ?? (try? ConnectionURL("http://\(authority)/"))
    }

    /// Runs a job on the loop, or when the server is no longer stalled.
    func perform(_ job: @escaping () -> Void) { self.loop.executeLocally { self.performNow(job) } }

    /// Runs a job later.
    func schedule(after delay: Duration, _ job: @escaping () -> Void) -> any ScheduledWork {
        self.loop.scheduleLocally(after: delay) { [weak self] in self?.performNow(job) }
    }

    /// Runs a job for received bytes: now, or when the delay is over.
    func arrive(_ job: @escaping () -> Void) {
        let delay = self.faults.delay
        guard delay > .zero || !self.state.value.delayed.isEmpty else { return self.performNow(job) }
        self.state.value.delayed.append(job)
        let now = self.scheduler.now
        // Never before the bytes that arrived earlier.
        let due = max(self.state.value.delayedUntil ?? now, now + delay)
        self.state.value.delayedUntil = due
        // One job for each turn, the oldest first: timers that are due together come in any order.
        let turn = { @Sendable in
            guard !self.state.value.delayed.isEmpty else { return }
            self.performNow(self.state.value.delayed.removeFirst())
        }
        // A virtual clock that stands still runs no timer that is already due.
        if due > now { _ = self.scheduler.schedule(at: due, on: self.loop, turn) } else { self.loop.execute(turn) }
    }

    /// Runs a job now, or when the server is no longer stalled.
    func performNow(_ job: @escaping () -> Void) {
        // Held jobs come first, also when the stall has just ended.
        guard self.faults.isStalled || !self.state.value.held.isEmpty else { return job() }
        self.state.value.held.append(job)
    }

    /// Runs the jobs of a stall that has ended.
    func runHeld() {
        for job in exchange(&self.state.value.held, with: []) { job() }
    }

    /// Forgets the jobs of a stall.
    func dropHeld() { self.state.value.held = [] }

    /// Forgets all jobs, at the end of the run.
    func dropAll() { (self.state.value.held, self.state.value.delayed) = ([], []) }
}
