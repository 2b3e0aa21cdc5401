internal import Dispatch
internal import LinkspanRuntime

/// The queue on which the handlers of a manager's sockets are called, in the order in which things happened.
///
/// Jobs that come while others wait are run in the same block, so that a burst of messages costs one block.
final class HandlerQueue: Sendable {
    private struct State: Sendable {
        var queue: DispatchQueue
        var waiting: [@Sendable () -> Void] = []
    }

    /// On each queue its own identity, so that a caller is known to be there.
    private static let identity = DispatchSpecificKey<ObjectIdentifier>()
    private let state = Lock(State(queue: .main))

    init() { self.queue = .main }

    var queue: DispatchQueue {
        get { self.state.withLock { $0.queue } }
        set {
            newValue.setSpecific(key: Self.identity, value: ObjectIdentifier(newValue))
            self.state.withLock { $0.queue = newValue }
        }
    }

    /// Runs a job at once for a caller on the queue, and otherwise there.
    func run(_ job: @escaping @Sendable () -> Void) {
        if DispatchQueue.getSpecific(key: Self.identity) == ObjectIdentifier(self.queue) {
            job()
        } else {
            self.post(job)
        }
    }

    /// Runs a job on the queue, behind those that were posted before; from any thread.
    func post(_ job: @escaping @Sendable () -> Void) {
        let queue = self.state.withLock { state in
            state.waiting.append(job)
            return state.waiting.count == 1 ? state.queue : nil
        }
        queue?.async {
            let jobs = self.state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            for job in jobs { job() }
        }
    }
}
