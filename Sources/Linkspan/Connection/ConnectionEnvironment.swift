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
}

/// Watches all connections of a manager.
///
/// Called on the path of every message: must not block.
protocol ConnectionObserver: AnyObject, Sendable {
    func changed(_ connection: PooledConnection, _ change: StateChange)
    func attempting(_ connection: PooledConnection, _ attempt: Int)
    /// Something has begun to wait.
    func queued(_ connection: PooledConnection)
    /// A command is about to be given to a link.
    func leaving(_ command: Command)
    func sent(_ connection: PooledConnection, _ command: Command)
    func received(_ connection: PooledConnection, _ message: InboundMessage)
    func finished(_ connection: PooledConnection, _ command: Command, _ outcome: Result<Payload, LinkspanError>)
}
