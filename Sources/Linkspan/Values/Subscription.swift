internal import LinkspanRuntime

/// A registration that lasts until it is cancelled.
///
/// Letting go of the value does not cancel it.
public final class Subscription: Sendable {
    private let end = Promise<Void>()
    /// A registration's request to its connection.
    enum Wish: Sendable {
        /// To read no further (true), or to read on.
        case readingPaused(Bool)
        /// To be called before the other listeners of its kind.
        case first
        /// To call a closure on the executor, when the present call has returned.
        case call(@Sendable () -> Void)
        /// To ask a listener for a single message, right before it gets one, whether it still takes it.
        case confirm(@Sendable () -> Bool)
    }

    /// Passes a request to the connection; nil where it takes none.
    let asks: (@Sendable (Wish) -> Void)?

    /// Makes a subscription that ends by `onCancel`.
    public convenience init(onCancel: @escaping @Sendable () -> Void) {
        self.init(asks: nil, onCancel: onCancel)
    }

    init(asks: (@Sendable (Wish) -> Void)?, onCancel: @escaping @Sendable () -> Void) {
        self.asks = asks
        self.end.whenFulfilled { onCancel() }
    }

    /// Calls a closure when the present call has returned: where the connection calls its listeners, or by the clock when a
    /// third party's connection takes no requests.
    static func call(
        _ job: @escaping @Sendable () -> Void, through asks: (@Sendable (Wish) -> Void)?, or scheduler: any Scheduler
    ) {
        if let asks { asks(.call(job)) } else { _ = scheduler.schedule(at: scheduler.now, job) }
    }

    /// Ends the registration.
    ///
    /// Called on the connection's executor, no call follows. Called elsewhere, the batch of messages that is being
    /// handled at that moment may still be heard.
    public func cancel() { self.end.fulfill() }

    /// Calls `step` when the subscription ends, for any reason; at once when it has ended already.
    func atEnd(_ step: @escaping @Sendable () -> Void) { self.end.whenFulfilled { step() } }
}
