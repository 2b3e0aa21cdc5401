private import Dispatch
internal import DequeModule
internal import LinkspanRuntime

/// Threads on which a registry calls its services.
///
/// Services may block; the SDK and the application's own tasks must not suffer from it. So every call runs here. There
/// are few threads; one is added while work waits and all are busy for longer than `patience`, up to `cap`, and leaves
/// again when there is nothing to do. Past the cap work waits; callers are still freed at their deadlines, since those
/// come from the clock's own thread.
///
/// Before macOS 15 and iOS 18 tasks cannot prefer an executor: there, services run on the default pool, and a deadline
/// frees the caller only while that pool has a thread left.
final class ServiceThreads: Sendable {
    private typealias Work = @Sendable () -> Void

    private struct State: Sendable {
        var queue: Deque<Work> = []
        var threads = 0
        var idle = 0
        var isWatched = false
        var isClosed = false
        var taken: UInt64 = 0
    }

    // Guards the work that waits: the service threads contend with the threads that add work.
    private let state = Lock(State())
    // Wakes a thread that waits for work.
    private let gate = DispatchSemaphore(value: 0)
    private let base: Int
    private let cap: Int
    private let patience: Duration
    private let priority: SystemThread.Priority

    init(
        base: Int, cap: Int, patience: Duration = .milliseconds(10), priority: SystemThread.Priority = .normal
    ) {
        self.base = max(1, base)
        self.cap = max(cap, self.base)
        self.patience = patience
        self.priority = priority
    }

    /// The number of threads.
    var count: Int { self.state.withLock { $0.threads } }

    /// Ends the threads once they have nothing to do; later work still gets a thread for as long as it lasts.
    func close() {
        let idle = self.state.withLock { state in
            state.isClosed = true
            return state.idle
        }
        for _ in 0..<idle {
            self.gate.signal()
        }
    }
}

extension ServiceThreads {
    private enum OnAdd {
        case wake
        case grow
        case watch
        case nothing
    }

    /// Runs `work` on one of the threads.
    func submit(_ work: @escaping @Sendable () -> Void) {
        let decision = self.state.withLock { state -> OnAdd in
            state.queue.append(work)
            if state.idle >= state.queue.count {
                return .wake
            }
            if state.threads < self.base {
                state.threads += 1
                return .grow
            }
            guard !state.isWatched else { return .nothing }
            state.isWatched = true
            return .watch
        }
        switch decision {
        case .wake: self.gate.signal()
        case .grow: self.grow()
        case .watch: self.watch()
        case .nothing: ()
        }
    }

    private func grow() {
        guard !SystemThread.start(name: "linkspan.service", priority: self.priority, { self.serve() }) else { return }
        let watches = self.state.withLock { state in
            state.threads -= 1
            defer { state.isWatched = true }
            return !state.isWatched
        }
        if watches { self.watch() }
    }

    /// Looks again after a while, and adds a thread if no work was taken in between.
    private func watch() {
        let taken = self.state.withLock { $0.taken }
        // The timer holds the threads, not the other way round; work that waits must get its thread.
        _ = SystemScheduler.shared.schedule(at: .now.advanced(by: self.patience)) {
            let (grows, again) = self.state.withLock { state in
                state.isWatched = !state.queue.isEmpty
                let grows = state.isWatched && state.taken == taken && state.threads < self.cap
                if grows { state.threads += 1 }
                return (grows, state.isWatched)
            }
            if grows { self.grow() }
            if again { self.watch() }
        }
    }

    private func serve() {
        var wasIdle = false
        while true {
            let (work, ends) = self.state.withLock { state -> (Work?, Bool) in
                if wasIdle { state.idle -= 1 }
                if let work = state.queue.popFirst() {
                    state.taken += 1
                    return (work, false)
                }
                let ends = state.isClosed || state.threads > self.base
                if ends { state.threads -= 1 } else { state.idle += 1 }
                return (nil, ends)
            }
            if ends { return }
            work?()
            wasIdle = work == nil
            if wasIdle { self.gate.wait() }
        }
    }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension ServiceThreads: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.submit { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

extension ServiceThreads {
    /// Begins a task on these threads.
    ///
    /// No parent can own it: a structured child must end before its parent returns, and the point of a deadline is that
    /// the caller goes on while a service that ignores its cancellation does not end.
    func begin<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
        if #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) {
            return Task.detached(executorPreference: self) { await body() }
        }
        return Task.detached(priority: nil) { await body() }
    }

    /// Begins the registry's own background work: a start or stop that nobody waits for.
    ///
    /// No parent can own it: registering and removing are synchronous, so that they work from anywhere. It is not on
    /// the service threads, which services may block.
    static func beginHousekeeping(_ body: @escaping @Sendable () async -> Void) {
        _ = Task.detached(priority: nil) { await body() }
    }
}
