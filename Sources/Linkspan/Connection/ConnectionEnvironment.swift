internal import Logging
internal import LinkspanRuntime

/// The manager's part in a connection: clock, random numbers, log, observer and the budget of attempts.
struct ConnectionEnvironment: Sendable {
    var scheduler: any Scheduler
    /// A random number from 0 up to 1.
    var random: @Sendable () -> Double
    var logger: Logger
    var observer: (any ConnectionObserver)?
    /// The pool of the manager, for its allowance.
    var attempts = SharedPool(AttemptLimits())
}
