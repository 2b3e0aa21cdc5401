internal import DequeModule
internal import LinkspanLock

/// Messages as an asynchronous sequence.
///
/// Elements wait in a bounded queue. When it is full the sequence loses the oldest waiting ones and says so: the next
/// element's ``Element/missed`` counts them. The stream ends when the connection is released or the iterating task is
/// cancelled. One iterator at a time.
public struct EventStream: AsyncSequence, Sendable {
    /// A message, and how many were lost just before it.
    public struct Element: Sendable {
        /// The message.
        public let message: Message
        /// Messages that were dropped between the former element and this one, because the iterating code was slow.
        public let missed: Int
    }

    let queue: EventQueue

    /// Makes an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(queue: self.queue) }

    /// Iterates over the messages, taking all that wait at once.
    public struct Iterator: AsyncIteratorProtocol {
        let queue: EventQueue
        private var batch: Deque<Element> = []

        init(queue: EventQueue) { self.queue = queue }

        /// The next message, or nil at the end.
        public mutating func next() async -> Element? {
            await self.next(isolation: #isolation)
        }

        /// The next message, or nil at the end, without leaving the caller's isolation while messages wait.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            if let element = self.batch.popFirst() { return element }
            guard let batch = await self.queue.take(isolation: actor) else { return nil }
            self.batch = batch
            return self.batch.popFirst()
        }
    }
}

/// What stands between the thread that receives and the task that iterates.
final class EventQueue: Sendable {
    private struct State: Sendable {
        var waiting: Deque<EventStream.Element> = []
        var missed = 0
        var consumer: UnsafeContinuation<Deque<EventStream.Element>?, Never>?
        var isFinished = false
    }

    private let capacity: Int
    private let state = Lock(State())
    private let subscriptions = Lock<[Subscription]>([])

    init(capacity: Int) { self.capacity = max(1, capacity) }

    deinit { self.cancelSubscriptions() }

    /// Keeps a subscription, to cancel it with the queue.
    func own(_ subscription: Subscription) {
        self.subscriptions.withLock { $0.append(subscription) }
        if self.state.withLock({ $0.isFinished }) { self.cancelSubscriptions() }
    }

    private func cancelSubscriptions() {
        let subscriptions = self.subscriptions.withLock { subscriptions in
            defer { subscriptions = [] }
            return subscriptions
        }
        for subscription in subscriptions { subscription.cancel() }
    }

    func push(_ message: Message) {
        let wake = self.state.withLock {
            state -> (
                UnsafeContinuation<Deque<EventStream.Element>?, Never>,
                EventStream.Element
            )? in
            guard !state.isFinished else { return nil }
            if state.waiting.count >= self.capacity {
                state.missed += 1 + (state.waiting.popFirst()?.missed ?? 0)
            }
            // The count goes to the oldest element that is left, which is the one behind the gap.
            if state.missed > 0, let first = state.waiting.popFirst() {
                state.waiting.prepend(.init(message: first.message, missed: first.missed + state.missed))
                state.missed = 0
            }
            let element = EventStream.Element(message: message, missed: state.missed)
            state.missed = 0
            if let consumer = state.consumer {
                state.consumer = nil
                return (consumer, element)
            }
            state.waiting.append(element)
            return nil
        }
        if let (consumer, element) = wake { consumer.resume(returning: [element]) }
    }

    func finish() {
        let consumer = self.state.withLock { state in
            state.isFinished = true
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.resume(returning: nil)
        self.cancelSubscriptions()
    }

    func take(isolation actor: isolated (any Actor)?) async -> Deque<EventStream.Element>? {
        if let ready = self.takeReady() { return ready }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let ready = self.state.withLock { state -> Deque<EventStream.Element>?? in
                    if !state.waiting.isEmpty {
                        defer { state.waiting = [] }
                        return .some(state.waiting)
                    }
                    if state.isFinished { return .some(nil) }
                    state.consumer = continuation
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            self.finish()
        }
    }

    private func takeReady() -> Deque<EventStream.Element>? {
        self.state.withLock { state in
            guard !state.waiting.isEmpty else { return nil }
            defer { state.waiting = [] }
            return state.waiting
        }
    }
}
