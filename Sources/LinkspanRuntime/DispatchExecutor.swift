private import Dispatch

/// An executor on a serial Dispatch queue.
final class DispatchExecutor: JobExecutor {
    private static let mark = ThreadMark()

    /// The executor itself: jobs of any thread, one at a time.
    private let queue: DispatchQueue

    init(label: String) { self.queue = DispatchQueue(label: label) }

    var isCurrent: Bool { Self.mark.isSet(to: self) }

    func execute(_ job: @escaping @Sendable () -> Void) {
        self.queue.async { Self.mark.set(to: self) { job() } }
    }
}
