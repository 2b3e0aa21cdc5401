/// A clock that tells the time and runs work at an instant.
///
/// A parameter, so that tests can run hours in milliseconds.
public protocol Scheduler: Sendable {
    /// The current instant of a clock that never jumps and goes on during sleep.
    var now: ContinuousClock.Instant { get }

    /// Calls `work` once at `instant` or soon after it.
    ///
    /// - Parameters:
    ///   - instant: when.
    ///   - executor: where; nil for any thread.
    ///   - work: the closure to call.
    /// - Returns: the call, which can be cancelled.
    func schedule(
        at instant: ContinuousClock.Instant, on executor: (any JobExecutor)?, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork
}

extension Scheduler {
    /// Calls `work` once at `instant` or soon after it, on any thread.
    public func schedule(
        at instant: ContinuousClock.Instant, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        self.schedule(at: instant, on: nil, work)
    }
}
