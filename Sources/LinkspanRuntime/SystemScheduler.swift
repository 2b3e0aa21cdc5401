/// Real time and serial executors, of the system.
public enum SystemScheduler {
    /// The scheduler of the process.
    public static let shared: any Scheduler = SystemTimers()

    /// Makes a serial executor on a Dispatch queue, for transports and stores without an event loop of their own.
    ///
    /// - Parameter label: the queue's name, for debuggers.
    /// - Returns: the executor.
    public static func makeExecutor(label: String) -> any JobExecutor { DispatchExecutor(label: label) }
}

/// Real time: calls work on a thread of its own, which the process shares.
///
/// Deadlines are on the clock of `ContinuousClock`, which counts the time that the machine sleeps. The thread starts
/// with the first deadline. Work runs on it one call at a time, in the order of the deadlines, so it must be short and
/// must not block. Cancelled work is let go of at once.
final class SystemTimers: Scheduler {
    private struct State: Sendable {
        var deadlines = DeadlineHeap<@Sendable () -> Void>()
        var timer: SystemTimer?
        /// The instant at which the timer expires; nil while nothing is due.
        var set: Moment?
    }

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
        let (key, unstarted) = self.state.withLock { state -> (DeadlineHeap<@Sendable () -> Void>.Key, SystemTimer?) in
            let key = state.deadlines.insert(work, at: moment)
            let isFirst = state.timer == nil
            let timer = state.timer ?? SystemTimer()
            state.timer = timer
            if state.set.map({ moment < $0 }) ?? true {
                // Set while the lock is held, or two that schedule at a time could leave the later time.
                timer.expire(in: Moment.now.duration(to: moment))
                state.set = moment
            }
            return (key, isFirst ? timer : nil)
        }
        if let unstarted {
            let isStarted = SystemThread.start(name: "linkspan.timer") { self.serve(unstarted) }
            precondition(isStarted, "cannot start a thread for timers")
        }
        return SystemWork(key: key, scheduler: self)
    }

    private func serve(_ timer: SystemTimer) {
        while true {
            while let work = self.nextDue(timer) { work() }
            timer.wait()
        }
    }

    /// The next call that is due; nil when none is, and the timer is set for the earliest.
    private func nextDue(_ timer: SystemTimer) -> (@Sendable () -> Void)? {
        self.state.withLock { state in
            let now = Moment.now
            if let work = state.deadlines.popDue(now) { return work }
            state.set = state.deadlines.earliest
            if let earliest = state.set { timer.expire(in: now.duration(to: earliest)) }
            return nil
        }
    }

    fileprivate func cancel(_ key: DeadlineHeap<@Sendable () -> Void>.Key) {
        // Let go of outside the lock, because that may run foreign code.
        let work = self.state.withLock { $0.deadlines.remove(key) }
        _ = consume work
    }
}

private struct SystemWork: ScheduledWork {
    let key: DeadlineHeap<@Sendable () -> Void>.Key
    let scheduler: SystemTimers

    func cancel() { self.scheduler.cancel(self.key) }
}
