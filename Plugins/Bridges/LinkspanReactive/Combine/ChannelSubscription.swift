#if canImport(Combine) || OpenCombine
#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
#endif
internal import Linkspan
internal import LinkspanRuntime

/// The state between a channel and one subscriber.
///
/// The channel's side only refers to it weakly and it keeps the channel, so that there is no circle: a subscriber keeps
/// its channel until it cancels, completes, or goes away.
final class ChannelSubscription<Output: Sendable>: Sendable {
    /// A subscriber, carried from thread to thread.
    ///
    /// Nothing of Combine is `Sendable`, although its contract lets a publisher call a subscriber on any thread as long
    /// as the calls come one after the other. ``DemandQueue`` sees to that, and the lock around it makes each call
    /// visible to the next. The compiler cannot know either, hence unsafe; nothing else in this module is.
    struct Downstream: Sendable {
        nonisolated(unsafe) let subscriber: AnySubscriber<Output, Never>
    }

    private struct State: Sendable {
        var queue: DemandQueue<Output>
        /// Nil once it has been told of the end or has cancelled.
        var downstream: Downstream?
        var upstream: [Linkspan.Subscription] = []
        var channel: (any Connection)?
    }

    /// Between the connection's executor, which pushes, and the subscriber's thread, which asks and cancels.
    private let state: Lock<State>
    private let onOverflow: (@Sendable (Int) -> Void)?
    /// Whether the subscriber is called on an actor, and not on the thread that delivers the value.
    private let hasActor: Bool
    /// The actor of the subscriber; weak, because it may hold the subscription.
    private weak let actor: (any Actor)?

    /// The number of values that are delivered on an actor before other work on it gets a turn.
    private static var turn: Int { 256 }

    init(
        _ subscriber: some Subscriber<Output, Never>, channel: any Connection, isolation: (any Actor)?, capacity: Int,
        onOverflow: (@Sendable (Int) -> Void)? = nil
    ) {
        self.hasActor = isolation != nil
        self.actor = isolation
        self.state = Lock(
            State(
                queue: DemandQueue(capacity: capacity),
                downstream: Downstream(subscriber: AnySubscriber(subscriber)), channel: channel))
        self.onOverflow = onOverflow
    }

    deinit { self.cancel() }

    // MARK: For the channel

    /// Keeps a subscription at the channel, to end it with this one.
    func own(_ upstream: Linkspan.Subscription) {
        let isKept = self.state.withLock { state in
            guard state.downstream != nil else { return false }
            state.upstream.append(upstream)
            return true
        }
        if !isKept { upstream.cancel() }
    }

    func push(_ output: Output, bytes: Int = 0) {
        if self.state.withLock({ $0.queue.push(output, bytes: bytes) }) { self.deliver() }
    }

    func begin(with output: Output) {
        if self.state.withLock({ $0.queue.begin(with: output) }) { self.deliver() }
    }

    func finish() {
        if self.state.withLock({ $0.queue.finish() }) { self.deliver() }
    }

    // MARK: Delivering

    /// Delivers what waits: here, or on the subscriber's actor.
    private func deliver() {
        guard self.hasActor else {
            self.deliver(atMost: .max)
            return
        }
        guard let actor = self.actor else { return self.letGo() }
        guard actor !== MainActor.shared || !MainQueue.isCurrent else {
            self.deliver(atMost: .max)
            return
        }
        // No parent can own this task: the thread that delivers a value must not wait for the actor.
        Task { await self.deliver(isolation: actor) }
    }

    private func deliver(isolation: isolated any Actor) async {
        while self.deliver(atMost: Self.turn) { await Task.yield() }
    }

    /// Delivers what waits.
    ///
    /// - Returns: whether it stopped at the limit.
    @discardableResult
    private func deliver(atMost limit: Int) -> Bool {
        for _ in 0..<limit {
            let (next, downstream) = self.state.withLock { ($0.queue.next(), $0.downstream) }
            switch next {
            case .give(let output, let dropped):
                if dropped > 0 { self.onOverflow?(dropped) }
                guard let more = downstream?.subscriber.receive(output), more > 0 else { continue }
                // The answer never tells the deliverer to deliver: the loop goes on anyway.
                _ = self.state.withLock { $0.queue.request(more) }
            case .finish:
                self.letGo()
                downstream?.subscriber.receive(completion: .finished)
                return false
            case .wait:
                return false
            }
        }
        return true
    }

    /// Releases everything outside the lock, because subscribers and channels may do anything when they go away.
    private func letGo() {
        let former = self.state.withLock { state in
            let former = state
            state.queue.cancel()
            state.downstream = nil
            state.upstream = []
            state.channel = nil
            return former
        }
        for subscription in former.upstream { subscription.cancel() }
    }
}

extension ChannelSubscription: CombineSubscription {
    func request(_ demand: Subscribers.Demand) {
        if self.state.withLock({ $0.queue.request(demand) }) { self.deliver() }
    }

    func cancel() { self.letGo() }
}
#endif
