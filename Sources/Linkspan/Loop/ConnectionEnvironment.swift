internal import Logging
internal import LinkspanRuntime

/// The manager's part in its connections, which share it: clock, random numbers, log, observer and the budget of
/// attempts.
final class ConnectionEnvironment: Sendable {
    let scheduler: any Scheduler
    /// A random number from 0 up to 1.
    let random: @Sendable () -> Double
    let logger: Logger
    let observer: (any ConnectionObserver)?
    /// The manager's allowance of attempts.
    let attempts: any AttemptAllowance

    init(
        scheduler: any Scheduler, random: @escaping @Sendable () -> Double, logger: Logger,
        observer: (any ConnectionObserver)? = nil, attempts: any AttemptAllowance
    ) {
        self.scheduler = scheduler
        self.random = random
        self.logger = logger
        self.observer = observer
        self.attempts = attempts
    }
}
