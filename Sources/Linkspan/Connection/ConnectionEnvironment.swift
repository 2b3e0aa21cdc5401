internal import Logging
internal import LinkspanRuntime

/// What comes to a connection from outside: time, chance, a log, and someone who watches.
struct ConnectionEnvironment: Sendable {
    var scheduler: any Scheduler
    /// A random number from 0 up to 1.
    var random: @Sendable () -> Double
    var logger: Logger
    var observer: (any ConnectionObserver)?
    var attempts = AttemptAdmission(AttemptLimits())
    /// What the observer made for the connection whose environment this is.
    var probe: LockedProbe?
}
