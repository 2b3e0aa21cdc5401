private import Dispatch

/// Real time, on a serial Dispatch queue.
public struct DispatchScheduler: Scheduler {
    /// The scheduler that the process shares.
    public static let shared = Self()

    private let queue = DispatchQueue(label: "linkspan.timer")

    /// Makes a scheduler with a queue of its own.
    public init() {}

    /// The present moment.
    public var now: ContinuousClock.Instant { .now }

    /// Calls `work` once at `instant` or soon after it, on the scheduler's queue.
    public func schedule(
        at instant: ContinuousClock.Instant, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        let call = DispatchedCall(work)
        let delay = max(.zero, self.now.duration(to: instant))
        let (seconds, attoseconds) = delay.components
        let nanoseconds = Double(seconds) * 1e9 + Double(attoseconds) / 1e9
        self.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(min(nanoseconds, 9e18)))) { call.run() }
        return call
    }
}

extension DispatchScheduler {
    /// Calls `work` by the executor's own timers, which are in real time as well.
    public func schedule(
        at instant: ContinuousClock.Instant, on executor: any JobExecutor, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        executor.schedule(at: instant, work)
    }
}

private final class DispatchedCall: ScheduledWork {
    private let work: Lock<(@Sendable () -> Void)?>

    init(_ work: @escaping @Sendable () -> Void) { self.work = Lock(work) }

    func run() { self.take()?() }

    func cancel() { _ = self.take() }

    private func take() -> (@Sendable () -> Void)? {
        self.work.withLock { work in
            defer { work = nil }
            return work
        }
    }
}
