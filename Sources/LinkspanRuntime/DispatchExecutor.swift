private import Dispatch

/// An executor on a serial Dispatch queue, for transports without an event loop of their own.
public final class DispatchExecutor: JobExecutor {
    private static let key = DispatchSpecificKey<ObjectIdentifier>()

    /// The executor itself: jobs of any thread, one at a time.
    private let queue: DispatchQueue

    /// Makes an executor with a queue of its own.
    ///
    /// - Parameter label: the queue's name, for debuggers.
    public init(label: String) {
        self.queue = DispatchQueue(label: label)
        self.queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
    }

    /// Whether the calling thread is running one of this executor's jobs.
    public var isCurrent: Bool { DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) }

    /// Runs `job` after all jobs given before it.
    public func execute(_ job: @escaping @Sendable () -> Void) { self.queue.async(execute: job) }
}
