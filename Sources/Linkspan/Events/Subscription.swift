internal import LinkspanRuntime

/// A registration that lasts until it is cancelled.
///
/// Letting go of the value does not cancel it.
public final class Subscription: Sendable {
    private let end = Promise<Void>()
    /// Has the connection read no further (true), or read on; nil where nothing is read.
    let pausesReading: (@Sendable (Bool) -> Void)?

    /// Makes a subscription that ends by `onCancel`.
    public convenience init(onCancel: @escaping @Sendable () -> Void) {
        self.init(pausesReading: nil, onCancel: onCancel)
    }

    init(pausesReading: (@Sendable (Bool) -> Void)?, onCancel: @escaping @Sendable () -> Void) {
        self.pausesReading = pausesReading
        self.end.whenFulfilled { onCancel() }
    }

    /// Ends the registration.
    ///
    /// Called on the connection's executor, no call follows. Called elsewhere, the batch of messages that is being
    /// handled at that moment may still be heard.
    public func cancel() { self.end.fulfill() }

    /// Calls `step` at the end, whoever brings it about; at once when it has come already.
    func atEnd(_ step: @escaping @Sendable () -> Void) { self.end.whenFulfilled { step() } }
}
