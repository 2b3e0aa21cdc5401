internal import LinkspanRuntime

/// The queue between the thread that receives and the task that iterates.
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
        /// Whether it has paused reading; taking the waiting messages resumes it.
        var isPaused = false
        var error: LinkspanError?
        /// Cancelled with the queue.
        var subscriptions: [Subscription] = []

        /// Whether elements are still taken in.
        var isOpen: Bool { !self.isFinished && self.error == nil }

        /// Ends the stream behind what waits, because that is too much.
        mutating func overflow() -> Step {
            self.error = LinkspanError(
                .bufferFull,
                "the stream is full with \(self.waiting.entries.count) messages, and ends instead of dropping one")
            return .end
        }

        /// The elements to hand over, if there are any.
        mutating func take(withEnd: Bool) -> EventBacklog? {
            guard !self.waiting.entries.isEmpty || withEnd && !self.waiting.isEmpty else { return nil }
            var taken = EventBacklog()
            swap(&taken, &self.waiting)
            // A reader of messages alone gets the gap of the end with the next message.
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

    private enum Step { case none, end, pause }

    /// The room beyond its bounds of a queue that pauses reading: what has been read already comes all the same.
    ///
    /// Past it, as it may get over a transport that cannot pause, the oldest goes.
    private static let slack = (messages: 1 << 16, bytes: 16 << 20)

    private let capacity: Int
    private let bytes: Int
    private let overflow: StreamOverflow
    /// Between the connection's executor, which pushes, and the task that iterates.
    private let state = Lock(State())

    init(capacity: Int, bytes: Int = 16 << 20, overflow: StreamOverflow = .dropOldest) {
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

    func push(_ mark: Continuity) {
        self.change { state in
            if state.isOpen { state.waiting.mark(mark) }
            return .none
        }
    }

    func push(_ message: Message) {
        self.change { state in
            guard state.isOpen else { return .none }
            state.waiting.append(message)
            return self.bound(&state) { $0.dropNewest() }
        }
    }

    /// Puts elements back that were taken and not read.
    ///
    /// Others may have filled the queue meanwhile: what is beyond its bounds now follows the rule for a full queue.
    /// After the end of the stream everything stays, because nothing is added any more.
    func putBack(_ unread: EventBacklog) {
        guard !unread.isEmpty else { return }
        self.change { state in
            state.waiting.putBack(unread)
            return state.isOpen ? self.bound(&state) : .none
        }
    }

    /// Brings what waits back into the bounds, by the rule for a full queue; there is room for one message of any size.
    private func bound(_ state: inout State, beforeEnd: (inout EventBacklog) -> Void = { _ in }) -> Step {
        guard self.isOverfull(state.waiting) else { return .none }
        switch self.overflow {
        case .dropOldest:
            while self.isOverfull(state.waiting) { state.waiting.dropOldest() }
        case .dropNewest:
            while self.isOverfull(state.waiting) { state.waiting.dropNewest() }
        case .pause:
            while self.isOverfull(state.waiting, slack: Self.slack) { state.waiting.dropOldest() }
            return .pause
        case .end:
            beforeEnd(&state.waiting)
            return state.overflow()
        }
        return .none
    }

    /// Whether more waits than there is room for.
    private func isOverfull(_ waiting: EventBacklog, slack: (messages: Int, bytes: Int) = (0, 0)) -> Bool {
        let (count, bytes) = (waiting.entries.count, waiting.byteCount)
        return count > 1 && (count > self.capacity + slack.messages || bytes > self.bytes + slack.bytes)
    }

    /// Pauses or resumes the reading of the connection.
    private func setPaused(_ isPaused: Bool) {
        for subscription in self.state.withLock({ $0.subscriptions }) { subscription.asks?(.readingPaused(isPaused)) }
    }

    /// Changes what waits, wakes the consumer if there is something for it now, and takes the step that follows.
    private func change(_ body: (inout State) -> Step) {
        let (wake, step) = self.state.withLock { state -> ((Consumer, EventBacklog)?, Step) in
            let step = body(&state)
            // A consumer that waited takes everything, so that there is nothing to pause for.
            if let wake = state.wake() { return (wake, step == .pause ? .none : step) }
            state.isPaused = state.isPaused || step == .pause
            return (nil, step)
        }
        if let (consumer, taken) = wake { consumer.continuation.resume(returning: taken) }
        switch step {
        case .none: ()
        case .end: self.finish()
        case .pause: self.setPaused(true)
        }
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

    /// The waiting elements, as soon as there are any; nil at the end.
    func take(withEnd: Bool, isolation actor: isolated (any Actor)?) async -> EventBacklog? {
        if let ready = self.takeReady(withEnd: withEnd) { return ready }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let consumer = Consumer(continuation: continuation, wantsEnd: withEnd)
                if let ready = self.takeReady(withEnd: withEnd, orAwait: consumer) {
                    continuation.resume(returning: ready)
                }
            }
        } onCancel: {
            self.finish()
        }
    }

    /// The elements that wait at this moment, or `.some(nil)` at the end; reading goes on if they had paused it.
    ///
    /// When it is neither, `consumer` is woken by the next that comes.
    private func takeReady(withEnd: Bool, orAwait consumer: Consumer? = nil) -> EventBacklog?? {
        let (ready, wasPaused) = self.state.withLock { state -> (EventBacklog??, Bool) in
            if let ready = state.take(withEnd: withEnd) {
                defer { state.isPaused = false }
                return (.some(ready), state.isPaused)
            }
            if state.isFinished { return (.some(nil), false) }
            state.consumer = consumer
            return (nil, false)
        }
        if wasPaused { self.setPaused(false) }
        return ready
    }
}
