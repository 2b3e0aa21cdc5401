public import LinkspanRuntime

/// A clock that moves only when the test advances it, and the work that is due on it.
///
/// Everything runs on the thread that moves the clock, in the order of the instants; what is due at the same instant
/// runs in the order in which it was scheduled. So a test that is driven by it alone is deterministic.
public final class VirtualScheduler: Scheduler {
    /// An executor for the transports of a test that is driven by this clock; it keeps the time.
    public let executor: TestExecutor

    /// The time at which the clock began.
    public let start: ContinuousClock.Instant

    /// Makes a clock that begins at an arbitrary instant.
    ///
    /// - Parameter holdsJobs: whether the ``executor`` holds jobs until the clock runs or the test looks at a scripted
    ///   transport, as an app's executor runs none inside a call; see ``TestExecutor``. Otherwise jobs run at once.
    public init(holdsJobs: Bool = false) {
        self.executor = TestExecutor(holdsJobs: holdsJobs)
        self.start = self.executor.withClock { $0.now }
    }

    /// The present moment of the virtual clock.
    public var now: ContinuousClock.Instant { self.executor.withClock { $0.now } }

    /// The time since the clock began.
    public var elapsed: Duration { self.start.duration(to: self.now) }

    /// The number of pieces of work that are due, now or later.
    public var pendingCount: Int { self.executor.withClock { $0.deadlines.count } }

    /// Calls `work` when the clock has come to `instant`, on the thread that moves the clock.
    @discardableResult
    public func schedule(
        at instant: ContinuousClock.Instant, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        self.schedule(at: instant, on: nil, work)
    }

    /// Calls `work` when the clock has come to `instant`, on an executor or, without one, on the thread that moves the
    /// clock.
    public func schedule(
        at instant: ContinuousClock.Instant, on executor: (any JobExecutor)?, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        let due: @Sendable () -> Void
        if let executor {
            due = { executor.execute(work) }
        } else {
            due = work
        }
        let (key, watchers) = self.executor.withClock { clock in
            (clock.deadlines.insert(due, at: Moment(max(instant, clock.now))), clock.takeWatchers())
        }
        for watcher in watchers { watcher.fulfill() }
        return VirtualWork(key: key, scheduler: self)
    }

    /// Calls `work` on the clock's ``executor`` after a while.
    @discardableResult
    func scheduleJob(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any ScheduledWork {
        self.schedule(at: self.now + delay, on: self.executor, work)
    }

    /// Calls `work` after a while; see ``schedule(at:_:)``.
    @discardableResult
    public func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> any ScheduledWork {
        self.schedule(at: self.now + delay, work)
    }

    /// Advances the clock and runs the work that becomes due, including work scheduled by it.
    public func advance(by duration: Duration) {
        let end = self.now + duration
        while self.runNext(until: end) {}
        self.executor.withClock { $0.now = max($0.now, end) }
    }

    /// Runs due work without advancing the clock.
    public func settle() { self.advance(by: .zero) }

    /// Runs everything until nothing is left.
    ///
    /// - Parameter limit: how far the clock may move.
    /// - Returns: whether nothing is left; false when the limit was reached first.
    @discardableResult
    package func runUntilIdle(limit: Duration) -> Bool {
        let end = self.now + limit
        while self.runNext(until: end) {}
        return self.pendingCount == 0
    }

    /// Waits until at least so many pieces of work are due, now or later: for threads of their own that are about to
    /// wait.
    package func pending(atLeast count: Int) async { await self.watch { self.pendingCount >= count } }

    /// Runs what is due, and what other threads make due, until a condition holds; the clock stands still.
    ///
    /// For tests in which tasks or a real network take part: it waits for them without asking again and again. It returns too when
    /// the task is cancelled, as by the test's time limit.
    ///
    /// ```swift
    /// async let reply = connection.request("slow", timeout: .seconds(5))
    /// await clock.run { !transport.received.isEmpty }
    /// clock.advance(by: .seconds(5))
    /// ```
    ///
    /// - Parameter condition: is asked after each job of the ``executor``, and after each piece of work that was
    ///   scheduled.
    public func run(until condition: () -> Bool) async {
        await self.watch {
            self.settle()
            return condition()
        }
        // What holds may be seen in the middle of a job of another thread, whose timers are not set yet.
        self.executor.execute {}
        self.settle()
    }

    /// Advances the clock to one piece of work after the other until a condition holds.
    ///
    /// Between two, what other threads have begun meanwhile is run.
    ///
    /// - Parameters:
    ///   - limit: how far the clock may move.
    ///   - condition: is asked before each step.
    /// - Returns: whether the condition holds.
    @discardableResult
    public func run(within limit: Duration, until condition: () -> Bool) async -> Bool {
        let end = self.now + limit
        while !condition() {
            await Task.yield()
            guard !Task.isCancelled, self.runNext(until: end) else { break }
        }
        return condition()
    }

    /// Returns when a condition holds, or when the task is cancelled.
    private func watch(_ condition: () -> Bool) async {
        while true {
            // Before the look, so that nothing is missed that comes after it.
            let news = Promise<Void>()
            self.executor.withClock { $0.watchers.append(news) }
            if condition() || Task.isCancelled { return }
            // The condition itself may have run a job: other tasks get the thread before it is asked again.
            if news.fulfilled != nil { await Task.yield() }
            await withTaskCancellationHandler {
                await news.value
            } onCancel: {
                news.fulfill()
            }
        }
    }

    /// Runs the earliest work that is due until `end`, moving the clock to its instant.
    private func runNext(until end: ContinuousClock.Instant) -> Bool {
        // What is held may set timers.
        self.executor.drain()
        let work = self.executor.withClock { clock -> VirtualClock.Work? in
            guard let next = clock.deadlines.earliest?.instant, next <= end else { return nil }
            clock.now = max(clock.now, next)
            return clock.deadlines.popDue(Moment(end))
        }
        work?()
        return work != nil
    }

    fileprivate func cancel(_ key: DeadlineHeap<VirtualClock.Work>.Key) {
        // Let go of outside the lock, because that may run foreign code.
        _ = self.executor.withClock { $0.deadlines.remove(key) }
    }
}

private final class VirtualWork: ScheduledWork {
    private let key: DeadlineHeap<VirtualClock.Work>.Key
    private let scheduler: VirtualScheduler

    init(key: DeadlineHeap<VirtualClock.Work>.Key, scheduler: VirtualScheduler) {
        (self.key, self.scheduler) = (key, scheduler)
    }

    func cancel() { self.scheduler.cancel(self.key) }
}
