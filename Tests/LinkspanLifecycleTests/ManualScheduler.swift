internal import LinkspanRuntime

/// A clock that stands still until a test moves it.
///
/// What is due already when it is scheduled runs at once.
final class ManualScheduler: Scheduler {
    private typealias Work = @Sendable () -> Void

    private struct State: Sendable {
        var now: ContinuousClock.Instant
        var deadlines = DeadlineHeap<Work>()
        var waiters: [(count: Int, promise: Promise<Void>)] = []
    }

    private struct Scheduled: ScheduledWork {
        let onCancel: @Sendable () -> Void

        func cancel() { self.onCancel() }
    }

    private let state = Lock(State(now: .now))

    var now: ContinuousClock.Instant { self.state.withLock { $0.now } }

    /// How many deadlines wait.
    var pending: Int { self.state.withLock { $0.deadlines.count } }

    func schedule(
        at instant: ContinuousClock.Instant, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        let (key, ready) = self.state.withLock { state -> (DeadlineHeap<Work>.Key?, [Promise<Void>]) in
            guard instant > state.now else { return (nil, []) }
            let key = state.deadlines.insert(work, at: instant)
            let count = state.deadlines.count
            defer { state.waiters.removeAll { $0.count <= count } }
            return (key, state.waiters.filter { $0.count <= count }.map(\.promise))
        }
        guard let key else {
            work()
            return Scheduled {}
        }
        for promise in ready { promise.fulfill() }
        return Scheduled { [weak self] in
            let work = self?.state.withLock { $0.deadlines.remove(key) }
            _ = consume work
        }
    }

    /// Moves the clock and runs what comes due, in order, each at its own time.
    func advance(by duration: Duration) {
        let target = self.now.advanced(by: duration)
        while let work = self.next(until: target) { work() }
    }

    private func next(until target: ContinuousClock.Instant) -> Work? {
        self.state.withLock { state in
            guard let next = state.deadlines.earliest, next <= target else {
                state.now = target
                return nil
            }
            state.now = max(state.now, next)
            return state.deadlines.popDue(target)
        }
    }

    /// Waits until at least `count` deadlines wait, so that moving the clock reaches them.
    func whenPending(_ count: Int) async {
        let promise = Promise<Void>()
        let isReady = self.state.withLock { state in
            guard state.deadlines.count < count else { return true }
            state.waiters.append((count, promise))
            return false
        }
        if !isReady { await promise.value }
    }
}
