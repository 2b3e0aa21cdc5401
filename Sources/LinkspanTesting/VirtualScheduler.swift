public import LinkspanRuntime

/// A clock that stands still until it is told to move, and the work that is due on it.
///
/// Everything runs on the thread that moves the clock, in the order of the instants; what is due at the same instant
/// runs in the order in which it was scheduled. So a test that is driven by it alone is deterministic.
public final class VirtualScheduler: Scheduler {
    /// An executor for the transports of a test that is driven by this clock; it keeps the time.
    public let executor = InlineExecutor()

    /// When the clock began.
    public let start: ContinuousClock.Instant

    /// Makes a clock that begins at an arbitrary instant.
    public init() {
        self.start = self.executor.withClock { $0.now }
    }

    /// The present moment of the virtual clock.
    public var now: ContinuousClock.Instant { self.executor.withClock { $0.now } }

    /// The time since the clock began.
    public var elapsed: Duration { self.start.duration(to: self.now) }

    /// How many pieces of work are due, now or later.
    public var pendingCount: Int { self.executor.withClock { $0.deadlines.count } }

    /// Calls `work` when the clock has come to `instant`, on the thread that moves it.
    @discardableResult
    public func schedule(
        at instant: ContinuousClock.Instant, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        let key = self.executor.withClock { $0.deadlines.insert(work, at: max(instant, $0.now)) }
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

    /// Moves the clock on, running what becomes due, what that work schedules included.
    public func advance(by duration: Duration) {
        let end = self.now + duration
        while self.runNext(until: end) {}
        self.executor.withClock { $0.now = max($0.now, end) }
    }

    /// Runs what is due without moving the clock.
    public func settle() { self.advance(by: .zero) }

    /// Runs everything until nothing is left.
    ///
    /// - Parameter limit: how far the clock may move.
    /// - Returns: whether nothing is left; false when the limit was reached first.
    @discardableResult
    public func runUntilIdle(limit: Duration) -> Bool {
        let end = self.now + limit
        while self.runNext(until: end) {}
        return self.pendingCount == 0
    }

    /// Runs the earliest work that is due until `end`, moving the clock to its instant.
    private func runNext(until end: ContinuousClock.Instant) -> Bool {
        let work = self.executor.withClock { clock -> VirtualClock.Work? in
            guard let next = clock.deadlines.earliest, next <= end else { return nil }
            clock.now = max(clock.now, next)
            return clock.deadlines.popDue(end)
        }
        work?()
        return work != nil
    }

    fileprivate func cancel(_ key: DeadlineHeap<VirtualClock.Work>.Key) {
        // Taken out first and let go of outside the lock, because letting go may run foreign code.
        let work = self.executor.withClock { $0.deadlines.remove(key) }
        _ = consume work
    }
}

private struct VirtualWork: ScheduledWork {
    let key: DeadlineHeap<VirtualClock.Work>.Key
    let scheduler: VirtualScheduler

    func cancel() { self.scheduler.cancel(self.key) }
}

/// The time of a ``VirtualScheduler``, as a value.
struct VirtualClock: Sendable {
    typealias Work = @Sendable () -> Void

    var now = ContinuousClock.now
    var deadlines = DeadlineHeap<Work>()
}
