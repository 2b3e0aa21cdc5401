private import Dispatch

/// An executor on a serial Dispatch queue.
final class DispatchExecutor: JobExecutor {
    private static let key = DispatchSpecificKey<ObjectIdentifier>()

    /// The executor itself: jobs of any thread, one at a time.
    private let queue: DispatchQueue

    init(label: String) {
        self.queue = DispatchQueue(label: label)
        self.queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
    }

    var isCurrent: Bool { DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) }

    func execute(_ job: @escaping @Sendable () -> Void) { self.queue.async(execute: job) }
}
