public import LinkspanRuntime

/// Options of a registry; of a nested registry only the outermost one's count.
public struct RegistryOptions: Sendable {
    /// Starts and stops services one at a time, to find those that rely on an order that they do not declare.
    ///
    /// Otherwise services that do not need each other start and stop concurrently.
    package var isSequential = false
    /// The longest start of the whole.
    public var startBudget: Duration = .seconds(30)
    /// The default time limit for the whole stop.
    public var shutdownBudget: Duration = .seconds(8)
    /// The time a cancelled start may take to return before it is abandoned.
    package var grace: Duration = .seconds(1)
    /// The time after which an optional service that failed to start is started again, doubled with each failure; nil
    /// for no retry.
    ///
    /// ``LifecycleService/stop(_:)`` is called before. Services that need it start when it is ready.
    public var retryDelay: Duration? = .seconds(1)
    /// The longest time between two such starts.
    package var retryCap: Duration = .seconds(60)
    /// The threads for calls to services, for each ``Urgency``; they start with the first call.
    package var threads: Int = 4
    /// The number of threads that may run for each ``Urgency`` while services block theirs.
    package var threadLimit: Int = 64
    /// The time.
    public var scheduler: any Scheduler = SystemScheduler.shared

    /// Makes the default options, changed by `configure`.
    public init(_ configure: (inout RegistryOptions) -> Void = { _ in }) {
        configure(&self)
    }
}
