internal import Foundation
internal import Linkspan
internal import LinkspanRuntime

/// The queue on which the handlers of a manager's sockets are called, in the order in which things happened.
///
/// Jobs that come while others wait are run in the same block, so that a burst of messages costs one block.
final class HandlerQueue {
    /// A message or a call; a message needs no closure, which would cost an allocation each.
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

    // A number and not the object's identity: on Linux one queue has several objects.
    /// Marks a queue, so that a caller that runs on it is recognised.
    private static let identity = DispatchSpecificKey<Int>()
    /// The number of queues that are marked.
    private static let marked = Lock(0)
    private let state = Lock((queue: DispatchQueue.main, identity: 0, waiting: [Job]()))

    init() { self.queue = .main }

    var queue: DispatchQueue {
        get { self.state.withLock { $0.queue } }
        set {
            // Once for all managers: another thread may be reading a mark, which to replace would free.
            let identity = Self.marked.withLock { count in
                if let known = newValue.getSpecific(key: Self.identity) { return known }
                count += 1
                newValue.setSpecific(key: Self.identity, value: count)
                return count
            }
            self.state.withLock { ($0.queue, $0.identity) = (newValue, identity) }
        }
    }

    /// Runs a job at once for a caller on the queue, and otherwise there.
    func run(_ body: @escaping () -> Void) {
        let isThere = DispatchQueue.getSpecific(key: Self.identity) == self.state.withLock { $0.identity }
        isThere ? body() : self.post(.call(body))
    }

    /// Runs a job on the queue, behind those that were posted before; from any thread.
    ///
    /// The job is made and run in place, because copying a message costs as much as queueing it.
    func post(_ job: @autoclosure () -> Job) {
        let queue = self.state.withLock { state in
            state.waiting.append(job())
            return state.waiting.count == 1 ? state.queue : nil
        }
        queue?.async {
            var jobs: [Job] = []
            self.state.withLock { swap(&$0.waiting, &jobs) }
            for index in jobs.indices { jobs[index].run() }
        }
    }
}
