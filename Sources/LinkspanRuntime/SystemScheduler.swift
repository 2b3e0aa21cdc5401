private import CLinkspanRuntime

/// Real time and serial executors, of the system.
public enum SystemScheduler {
    /// The scheduler of the process.
    ///
    /// It takes a descriptor and a thread with its first deadline. While the process has none left, deadlines are still
    /// met, up to 10 milliseconds late.
    public static let shared: any Scheduler = SystemTimers()

    /// Makes a serial executor on a Dispatch queue, for transports and stores without an event loop of their own.
    ///
    /// - Parameter label: the queue's name, for debuggers.
    /// - Returns: the executor.
    public static func makeExecutor(label: String) -> any JobExecutor { DispatchExecutor(label: label) }
}

extension Scheduler {
    /// The present moment.
    package var moment: Moment { Self.self == SystemTimers.self ? .now : Moment(self.now) }
}

extension JobExecutor {
    /// Runs `job` by the timers of ``SystemScheduler``, for executors without timers of their own.
    @discardableResult
    public func schedule(
        at instant: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        // Not weakly: an object that has ever been referred to weakly is retained and released more slowly.
        SystemScheduler.shared.schedule(at: instant) { self.execute(job) }
    }
}

/// Real time: calls work on a thread of its own, which the process shares.
///
/// Deadlines are on the clock of `ContinuousClock`, which counts the time that the machine sleeps. The thread starts
/// with the first deadline. Work runs on it one call at a time, in the order of the deadlines, so it must be short and
/// must not block. Cancelled work is let go of at once.
final class SystemTimers: Scheduler {
    private struct State: Sendable {
        var deadlines = DeadlineHeap<@Sendable () -> Void>()
        /// Nil before the first deadline, and while the process has no descriptor left.
        var timer: SystemTimer?
        /// The instant at which the timer expires; nil while nothing is due.
        var set: Moment?
        /// True once a thread, or a task in its place, runs what is due.
        var isServed = false

        mutating func setTimer(to moment: Moment, at now: Moment) {
            self.timer = self.timer ?? SystemTimer()
            self.timer?.expire(in: now.duration(to: moment))
            self.set = moment
        }
    }

    /// The pause between two looks at the clock without a timer or a thread.
    private static let pollInterval = Duration.milliseconds(10)

    /// Deadlines: between all threads that schedule or cancel and the scheduler's own.
    private let state = Lock(State())

    /// Makes a scheduler with a thread of its own, which lives as long as the process.
    init() {}

    /// The present moment.
    var now: ContinuousClock.Instant { .now }

    /// The number of calls that are due, now or later.
    var pendingCount: Int { self.state.withLock { $0.deadlines.count } }

    /// Calls `work` by the executor's own timers, which are in real time as well, or on the scheduler's thread.
    func schedule(
        at instant: ContinuousClock.Instant, on executor: (any JobExecutor)?, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        if let executor { return executor.schedule(at: instant, work) }
        let moment = Moment(instant)
        let (key, isFirst) = self.state.withLock { state in
            let key = state.deadlines.insert(work, at: moment)
            // Set while the lock is held, or two that schedule at a time could leave the later time.
            if state.set.map({ moment < $0 }) ?? true { state.setTimer(to: moment, at: .now) }
            defer { state.isServed = true }
            return (key, !state.isServed)
        }
        if isFirst { self.start() }
        return SystemWork(key: key, scheduler: self)
    }

    private func start() {
        guard !self.startThread() else { return }
        // No parent can own this task: until the system has a thread left, it stands in for that of the process.
        Task.detached {
            repeat {
                self.runDue()
                try? await Task.sleep(for: Self.pollInterval)
            } while !self.startThread()
        }
    }

    private func startThread() -> Bool {
        SystemThread.start(name: "linkspan.timer") {
            while true {
                self.runDue()
                if let timer = self.state.withLock({ $0.timer }) {
                    timer.wait()
                } else {
                    usleep(UInt32(Self.pollInterval / .microseconds(1)))
                }
            }
        }
    }

    private func runDue() {
        while let work = self.nextDue() { work() }
    }

    /// The next call that is due; nil when none is, and the timer is set for the earliest.
    private func nextDue() -> (@Sendable () -> Void)? {
        self.state.withLock { state in
            let now = Moment.now
            if let work = state.deadlines.popDue(now) { return work }
            state.set = nil
            if let earliest = state.deadlines.earliest { state.setTimer(to: earliest, at: now) }
            return nil
        }
    }

    fileprivate func cancel(_ key: DeadlineHeap<@Sendable () -> Void>.Key) {
        // Let go of outside the lock, because that may run foreign code.
        _ = self.state.withLock { $0.deadlines.remove(key) }
    }
}

private final class SystemWork: ScheduledWork {
    private let key: DeadlineHeap<@Sendable () -> Void>.Key
    private let scheduler: SystemTimers

    init(key: DeadlineHeap<@Sendable () -> Void>.Key, scheduler: SystemTimers) {
        (self.key, self.scheduler) = (key, scheduler)
    }

    func cancel() { self.scheduler.cancel(self.key) }
}
