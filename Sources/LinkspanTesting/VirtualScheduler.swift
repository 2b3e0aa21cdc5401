public import LinkspanRuntime

/// A clock that stands still until it is told to move, and the work that is due on it.
///
/// Everything runs on the thread that moves the clock, in the order of the instants; what is due at the same instant runs
/// in the order in which it was scheduled. So a test that is driven by it alone is deterministic.
public final class VirtualScheduler: Scheduler {
    fileprivate struct Entry: Sendable {
        var instant: ContinuousClock.Instant
        var number: UInt64

        func isBefore(_ other: Self) -> Bool {
            self.instant == other.instant ? self.number < other.number : self.instant < other.instant
        }
    }

    fileprivate struct State: Sendable {
        var now: ContinuousClock.Instant
        var heap: [Entry] = []
        var work: [UInt64: @Sendable () -> Void] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state: Lock<State>

    /// An executor for the transports of a test that is driven by this clock.
    public let executor = InlineExecutor()

    /// When the clock began.
    public let start: ContinuousClock.Instant

    /// Makes a clock that begins at an arbitrary instant.
    public init() {
        self.start = .now
        self.state = Lock(State(now: self.start))
    }

    /// The present moment of the virtual clock.
    public var now: ContinuousClock.Instant { self.state.withLock { $0.now } }

    /// The time since the clock began.
    public var elapsed: Duration { self.start.duration(to: self.now) }

    /// How many pieces of work are due, now or later.
    public var pendingCount: Int { self.state.withLock { $0.work.count } }

    /// Calls `work` when the clock has come to `instant`, on the thread that moves it.
    @discardableResult
    public func schedule(
        at instant: ContinuousClock.Instant, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        let number = self.state.withLock { state in
            state.lastNumber += 1
            state.work[state.lastNumber] = work
            state.push(Entry(instant: max(instant, state.now), number: state.lastNumber))
            return state.lastNumber
        }
        return VirtualWork(number: number, scheduler: self)
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
        self.state.withLock { $0.now = max($0.now, end) }
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
        let work = self.state.withLock { state -> (@Sendable () -> Void)? in
            while let first = state.heap.first, first.instant <= end {
                state.pop()
                guard let work = state.work.removeValue(forKey: first.number) else { continue }
                state.now = max(state.now, first.instant)
                return work
            }
            return nil
        }
        work?()
        return work != nil
    }

    fileprivate func cancel(_ number: UInt64) {
        // Taken out first and let go of outside the lock, because letting go may run foreign code.
        let work = self.state.withLock { $0.work.removeValue(forKey: number) }
        _ = consume work
    }
}

extension VirtualScheduler.State {
    fileprivate mutating func push(_ entry: VirtualScheduler.Entry) {
        self.heap.append(entry)
        var child = self.heap.count - 1
        while child > 0, self.heap[child].isBefore(self.heap[(child - 1) / 2]) {
            self.heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    fileprivate mutating func pop() {
        self.heap.swapAt(0, self.heap.count - 1)
        self.heap.removeLast()
        var parent = 0
        while true {
            var first = parent
            for child in (2 * parent + 1)...(2 * parent + 2) where child < self.heap.count {
                if self.heap[child].isBefore(self.heap[first]) { first = child }
            }
            guard first != parent else { return }
            self.heap.swapAt(parent, first)
            parent = first
        }
    }
}

private struct VirtualWork: ScheduledWork {
    let number: UInt64
    let scheduler: VirtualScheduler

    func cancel() { self.scheduler.cancel(self.number) }
}
