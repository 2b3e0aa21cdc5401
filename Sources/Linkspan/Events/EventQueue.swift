internal import LinkspanRuntime

/// What stands between the thread that receives and the task that iterates.
final class EventQueue: Sendable {
    private struct Consumer: Sendable {
        let continuation: UnsafeContinuation<EventBacklog?, Never>
        /// Whether marks alone are worth waking for.
        let wantsEnd: Bool
    }

    private struct State: Sendable {
        var waiting = EventBacklog()
        var consumer: Consumer?
        var isFinished = false
        var error: LinkspanError?
        /// Cancelled with the queue.
        var subscriptions: [Subscription] = []

        /// What is to be handed over, if there is something.
        mutating func take(withEnd: Bool) -> EventBacklog? {
            guard !self.waiting.entries.isEmpty || withEnd && !self.waiting.isEmpty else { return nil }
            var taken = EventBacklog()
            swap(&taken, &self.waiting)
            // Who reads messages alone hears of the end's hole with the next message.
            if !withEnd { for mark in taken.takeEnd().marks { self.waiting.mark(mark) } }
            return taken
        }

        /// The consumer and what it gets, if it waits and there is something.
        mutating func wake() -> (Consumer, EventBacklog)? {
            guard let consumer = self.consumer, let taken = self.take(withEnd: consumer.wantsEnd) else { return nil }
            self.consumer = nil
            return (consumer, taken)
        }
    }

    private let capacity: Int
    private let bytes: Int
    private let overflow: EventStream.Overflow
    /// Between the connection's executor, which pushes, and the task that iterates.
    private let state = Lock(State())

    init(capacity: Int, bytes: Int = EventStream.standardBytes, overflow: EventStream.Overflow = .dropOldest) {
        self.capacity = max(1, capacity)
        self.bytes = max(1, bytes)
        self.overflow = overflow
    }

    deinit { self.cancelSubscriptions() }

    var error: LinkspanError? { self.state.withLock { $0.error } }

    /// Keeps a subscription, to cancel it with the queue.
    func own(_ subscription: Subscription) {
        let isFinished = self.state.withLock { state in
            state.subscriptions.append(subscription)
            return state.isFinished
        }
        if isFinished { self.cancelSubscriptions() }
    }

    private func cancelSubscriptions() {
        let subscriptions = self.state.withLock { state in
            defer { state.subscriptions = [] }
            return state.subscriptions
        }
        for subscription in subscriptions { subscription.cancel() }
    }

    func push(_ mark: Continuity) { self.change { $0.waiting.mark(mark) } }

    func push(_ message: Message) {
        let mustEnd = self.change { state in
            guard self.isFull(state.waiting, for: message) else { return state.waiting.append(message) }
            switch self.overflow {
            case .dropOldest:
                // The former first: with room for one, the newest stays.
                repeat { state.waiting.dropOldest() } while self.isFull(state.waiting, for: message)
                state.waiting.append(message)
            case .dropNewest:
                state.waiting.miss()
            case .end:
                state.waiting.miss()
                state.error = LinkspanError(
                    .overflowed,
                    "the stream was to end rather than to drop a message, and \(state.waiting.entries.count) were waiting"
                )
            }
        }
        if mustEnd { self.finish() }
    }

    /// Whether there is no room for a message; there always is for one.
    private func isFull(_ waiting: EventBacklog, for message: Message) -> Bool {
        guard !waiting.entries.isEmpty else { return false }
        return waiting.entries.count >= self.capacity || waiting.byteCount + message.byteCount > self.bytes
    }

    /// Changes what waits, and wakes the consumer if there is something for it now.
    ///
    /// - Returns: whether the stream has to end.
    @discardableResult
    private func change(_ body: (inout State) -> Void) -> Bool {
        let (wake, mustEnd) = self.state.withLock { state -> ((Consumer, EventBacklog)?, Bool) in
            guard !state.isFinished, state.error == nil else { return (nil, false) }
            body(&state)
            return (state.wake(), state.error != nil)
        }
        if let (consumer, taken) = wake { consumer.continuation.resume(returning: taken) }
        return mustEnd
    }

    func finish() {
        let consumer = self.state.withLock { state in
            state.isFinished = true
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.continuation.resume(returning: nil)
        self.cancelSubscriptions()
    }

    /// What waits, as soon as there is something; nil at the end.
    func take(withEnd: Bool, isolation actor: isolated (any Actor)?) async -> EventBacklog? {
        if let ready = self.state.withLock({ $0.take(withEnd: withEnd) }) { return ready }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let ready = self.state.withLock { state -> EventBacklog?? in
                    if let ready = state.take(withEnd: withEnd) { return .some(ready) }
                    if state.isFinished { return .some(nil) }
                    state.consumer = Consumer(continuation: continuation, wantsEnd: withEnd)
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            self.finish()
        }
    }
}
