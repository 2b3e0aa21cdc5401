internal import LinkspanLock

/// A registration that lasts until it is cancelled.
///
/// Letting go of the value does not cancel it.
public final class Subscription: Sendable {
    private let onCancel: Lock<(@Sendable () -> Void)?>

    /// Makes a subscription that ends by `onCancel`.
    public init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = Lock(onCancel) }

    /// Ends the registration: no call begins after this returns, except one that another thread has begun already.
    public func cancel() {
        let onCancel = self.onCancel.withLock { onCancel in
            defer { onCancel = nil }
            return onCancel
        }
        onCancel?()
    }
}
