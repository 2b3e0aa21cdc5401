internal import DequeModule
private import Dispatch
public import LinkspanRuntime

private import CLinkspanRuntime

/// An executor for tests, without a thread of its own; with that of a ``VirtualScheduler`` a test is deterministic.
///
/// Jobs run one at a time and in order; a job given from inside a job runs after it.
/// - By default a test calls and then looks: a job has run when ``execute(_:)`` returns, unless that is called from inside
///   a job. It runs on the thread that brings it; another thread that brings one meanwhile waits until it has run, with all
///   that it has given.
/// - An executor that holds jobs runs them in ``drain()``. No callback is called inside a call of the test, as none is
///   called inside a call of an app.
public final class TestExecutor: JobExecutor {
    private enum Next {
        case job(@Sendable () -> Void)
        case end(waiting: [DispatchSemaphore], watchers: [Promise<Void>])
    }

    private struct State: Sendable {
        var jobs: Deque<@Sendable () -> Void> = []
        var isRunning = false
        /// Whether one of the jobs since the executor was last idle may have changed something.
        var hasNews = false
        var thread: UInt?
        /// Other threads that have brought jobs, and wait until none is left.
        var waiting: [DispatchSemaphore] = []
        var clock = VirtualClock()

        mutating func next() -> Next {
            if let job = self.jobs.popFirst() { return .job(job) }
            defer { (self.isRunning, self.hasNews, self.waiting) = (false, false, []) }
            return .end(waiting: self.waiting, watchers: self.hasNews ? self.clock.takeWatchers() : [])
        }
    }

    /// Jobs, and the time of a ``VirtualScheduler``: between the threads that bring jobs, the one that runs them and the
    /// one that moves the clock.
    private let state = Lock(State())
    private let holdsJobs: Bool

    /// Makes an executor without jobs.
    ///
    /// - Parameter holdsJobs: whether jobs wait for ``drain()``; otherwise they run at once.
    public init(holdsJobs: Bool = false) { self.holdsJobs = holdsJobs }

    /// Whether the calling thread is running one of this executor's jobs.
    public var isCurrent: Bool { self.state.withLock { $0.isRunning && $0.thread == Self.thread } }

    /// Runs `job` after all jobs given before it.
    ///
    /// Returns when no job is left, or at once when the caller is a job or the executor holds jobs.
    public func execute(_ job: @escaping @Sendable () -> Void) {
        if self.holdsJobs { self.hold(job) } else { self.enter(isNews: true, job) }
    }

    /// Runs the jobs that are held, with all that they give, on the calling thread, unless the caller is a job.
    public func drain() {
        if self.holdsJobs { self.look {} }
    }

    private func hold(_ job: @escaping @Sendable () -> Void) {
        let watchers = self.state.withLock { state in
            state.hasNews = true
            state.jobs.append(job)
            // Waiters for a condition drain; while jobs run, they are resumed at the end.
            return state.isRunning ? [] : state.clock.takeWatchers()
        }
        for watcher in watchers { watcher.fulfill() }
    }

    private func enter(isNews: Bool, _ job: @escaping @Sendable () -> Void) {
        let isDone = DispatchSemaphore(value: 0)
        let mustRun = self.state.withLock { state -> Bool? in
            state.hasNews = state.hasNews || isNews
            state.jobs.append(job)
            guard state.isRunning else {
                state.isRunning = true
                state.thread = Self.thread
                return true
            }
            guard state.thread != Self.thread else { return nil }
            state.waiting.append(isDone)
            return false
        }
        guard let mustRun else { return }
        guard mustRun else { return isDone.wait() }
        while let job = self.next() { job() }
    }

    /// Runs `body` after all jobs given before it, or at once when the caller is in a job, and returns its result.
    func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Result { self.run(isNews: true, body) }

    /// Runs a `body` that only reads, in the same order as ``run(_:)``.
    ///
    /// It does not wake tasks that wait for a condition: the condition reads, too, and would wake its own task each time.
    func look<Result: Sendable>(_ body: @escaping @Sendable () -> Result) -> Result { self.run(isNews: false, body) }

    private func run<Result: Sendable>(isNews: Bool, _ body: @escaping @Sendable () -> Result) -> Result {
        guard !self.isCurrent else { return body() }
        let promise = Promise<Result>()
        self.enter(isNews: isNews) { promise.fulfill(body()) }
        guard let result = promise.fulfilled else { preconditionFailure("a job has run when it has been given") }
        return result
    }

    /// Reads or changes the time that belongs to this executor.
    func withClock<Result>(_ body: (inout VirtualClock) -> Result) -> Result {
        self.state.withLock { body(&$0.clock) }
    }

    /// The next job; without one, the threads that wait go on.
    private func next() -> (@Sendable () -> Void)? {
        switch self.state.withLock({ $0.next() }) {
        case .job(let job): return job
        case .end(let waiting, let watchers):
            for thread in waiting { thread.signal() }
            for watcher in watchers { watcher.fulfill() }
            return nil
        }
    }

    private static var thread: UInt {
        // Elsewhere it is a pointer, or a signed number.
        #if canImport(Glibc)
        pthread_self()
        #else
        UInt(bitPattern: pthread_self())
        #endif
    }
}
