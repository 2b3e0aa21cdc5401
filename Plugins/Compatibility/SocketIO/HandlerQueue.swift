internal import Dispatch
internal import Linkspan
internal import LinkspanRuntime

/// The queue on which the handlers of a manager's sockets are called, in the order in which things happened.
///
/// Jobs that come while others wait are run in the same block, so that a burst of messages costs one block.
final class HandlerQueue {
    /// A message has no closure of its own: one would be allocated for each.
    enum Job {
        case message(Message, SocketIOClient)
        case call(() -> Void)

        fileprivate func run() {
            switch self {
            case .message(let message, let socket): socket.receive(message)
            case .call(let body): body()
            }
        }
    }

    /// On each queue its own identity, so that a caller is known to be there.
    private static let identity = DispatchSpecificKey<ObjectIdentifier>()
    private let state = Lock((queue: DispatchQueue.main, waiting: [Job]()))

    init() { self.queue = .main }

    var queue: DispatchQueue {
        get { self.state.withLock { $0.queue } }
        set {
            newValue.setSpecific(key: Self.identity, value: ObjectIdentifier(newValue))
            self.state.withLock { $0.queue = newValue }
        }
    }

    /// Runs a job at once for a caller on the queue, and otherwise there.
    func run(_ body: @escaping () -> Void) {
        if DispatchQueue.getSpecific(key: Self.identity) == ObjectIdentifier(self.queue) {
            body()
        } else {
            self.post(.call(body))
        }
    }

    /// Runs a job on the queue, behind those that were posted before; from any thread.
    ///
    /// It is made where it waits, and run there: to copy a message costs as much as to wait.
    func post(_ job: @autoclosure () -> Job) {
        let queue = self.state.withLock { state in
            state.waiting.append(job())
            return state.waiting.count == 1 ? state.queue : nil
        }
        queue?.async {
            let jobs = self.state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            for index in jobs.indices { jobs[index].run() }
        }
    }
}
