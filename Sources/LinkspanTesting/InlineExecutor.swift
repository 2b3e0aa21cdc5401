internal import DequeModule
public import LinkspanRuntime

#if canImport(Darwin)
private import Darwin
#elseif canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#endif

/// An executor for tests that call and then look: a job runs before ``execute(_:)`` returns, unless another is running.
///
/// Jobs run one at a time and in order, on the thread that brings the first of them; a job given from inside a job, or from
/// another thread meanwhile, runs after those before it. With a ``VirtualScheduler``'s executor a test is deterministic.
public final class InlineExecutor: JobExecutor {
    private struct State: Sendable {
        var jobs: Deque<@Sendable () -> Void> = []
        var isRunning = false
        var thread: UInt?
    }

    private let state = Lock(State())

    /// Makes an executor without jobs.
    public init() {}

    /// Whether the calling thread is running one of this executor's jobs.
    public var isCurrent: Bool { self.state.withLock { $0.isRunning && $0.thread == Self.thread } }

    /// Runs `job` after all jobs given before it, on this thread when no other is running jobs.
    public func execute(_ job: @escaping @Sendable () -> Void) {
        let mustRun = self.state.withLock { state in
            state.jobs.append(job)
            guard !state.isRunning else { return false }
            state.isRunning = true
            state.thread = Self.thread
            return true
        }
        guard mustRun else { return }
        while let job = self.next() { job() }
    }

    private func next() -> (@Sendable () -> Void)? {
        self.state.withLock { state in
            let job = state.jobs.popFirst()
            state.isRunning = job != nil
            return job
        }
    }

    private static var thread: UInt {
        #if canImport(Darwin)
        UInt(bitPattern: pthread_self())
        #else
        pthread_self()
        #endif
    }
}
