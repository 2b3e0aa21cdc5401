internal import Logging
internal import LinkspanRuntime

/// What a connection gets from its manager: clock, random numbers, log, observer and the budget of attempts.
struct ConnectionEnvironment: Sendable {
    var scheduler: any Scheduler
    /// A random number from 0 up to 1.
    var random: @Sendable () -> Double
    var logger: Logger
    var observer: (any ConnectionObserver)?
    /// The pool of the manager, for its allowance.
    var attempts = SharedPool(AttemptLimits())
}
