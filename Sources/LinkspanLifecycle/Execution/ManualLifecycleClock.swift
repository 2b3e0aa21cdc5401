internal import LinkspanRuntime

/// A clock that stands still until it is told to move, for tests.
public final class ManualLifecycleClock: LifecycleClock {
    private struct State: Sendable {
        var now: ContinuousClock.Instant
        var queue = DeadlineQueue()
        var waiters: [(count: Int, resume: @Sendable () -> Void)] = []
    }

    private let state: Lock<State>

    /// Makes a clock that stands at the present.
    public init() {
        self.state = Lock(State(now: .now))
    }

    /// The time to which the clock was moved.
    public var now: ContinuousClock.Instant { self.state.withLock { $0.now } }

    /// How many deadlines wait.
    public var pending: Int { self.state.withLock { $0.queue.count } }

    /// Calls `action` once when the clock is moved to `deadline` or past it.
    public func schedule(
        at deadline: ContinuousClock.Instant, _ action: @escaping @Sendable () -> Void
    ) -> LifecycleTimer {
        let (number, due) = self.state.withLock { state in
            guard deadline > state.now else {
                return (nil as UInt64?, [] as [(count: Int, resume: @Sendable () -> Void)])
            }
            let number = state.queue.add(deadline, action)
            let due = state.waiters.filter { $0.count <= state.queue.count }
            state.waiters.removeAll { $0.count <= state.queue.count }
            return (number, due)
        }
        guard let number else {
            action()
            return LifecycleTimer {}
        }
        for waiter in due {
            waiter.resume()
        }
        return LifecycleTimer { [weak self] in self?.state.withLock { $0.queue.remove(number) } }
    }

    /// Moves the clock and calls what came due, in order, each at its own time.
    public func advance(by duration: Duration) {
        let target = self.now.advanced(by: duration)
        while true {
            let action = self.state.withLock { state -> (@Sendable () -> Void)? in
                if let next = state.queue.next, next <= target {
                    state.now = max(state.now, next)
                    return state.queue.popDue(target)
                }
                state.now = target
                return nil
            }
            guard let action else {
                return
            }
            action()
        }
    }

    /// Waits until at least `count` deadlines wait, so that moving the clock reaches them.
    public func whenPending(_ count: Int) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let ready = self.state.withLock { state in
                guard state.queue.count < count else {
                    return true
                }
                state.waiters.append((count, { continuation.resume() }))
                return false
            }
            if ready {
                continuation.resume()
            }
        }
    }
}
