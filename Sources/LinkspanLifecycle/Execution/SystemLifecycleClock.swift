internal import LinkspanRuntime

/// The machine's monotonic clock, with one thread of its own so that no busy pool can delay a deadline.
public final class SystemLifecycleClock: LifecycleClock {
    static let shared = SystemLifecycleClock()

    private struct State: Sendable {
        var queue = DeadlineQueue()
        var hasThread = false
    }

    private let state = Lock(State())
    private let gate = ServiceThread.Gate()

    private init() {}

    /// The time.
    public var now: ContinuousClock.Instant { .now }

    /// Calls `action` once at `deadline`, on the clock's thread.
    public func schedule(
        at deadline: ContinuousClock.Instant, _ action: @escaping @Sendable () -> Void
    ) -> LifecycleTimer {
        let (number, isFirst, needsThread) = self.state.withLock { state in
            let before = state.queue.next
            let number = state.queue.add(deadline, action)
            let needsThread = !state.hasThread
            state.hasThread = true
            return (number, before.map { deadline < $0 } ?? true, needsThread)
        }
        if needsThread {
            let began = ServiceThread.begin { self.serve() }
            precondition(began, "no thread to be had for deadlines")
        } else if isFirst {
            self.gate.signal()
        }
        return LifecycleTimer { self.state.withLock { $0.queue.remove(number) } }
    }

    private func serve() {
        while true {
            let now = self.now
            let (action, next) = self.state.withLock { state in
                let action = state.queue.popDue(now)
                return (action, state.queue.next)
            }
            if let action {
                action()
            } else {
                self.gate.wait(atMost: next.map { now.duration(to: $0) })
            }
        }
    }
}
