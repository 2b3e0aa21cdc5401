internal import LinkspanRuntime

/// A registration that lasts until it is cancelled.
///
/// Letting go of the value does not cancel it.
public final class Subscription: Sendable {
    /// What is left to do at the end; nil when it has come.
    private let atEnd: Lock<[@Sendable () -> Void]?>
    /// Has the connection read no further (true), or read on; nil where nothing is read.
    let pausesReading: (@Sendable (Bool) -> Void)?

    /// Makes a subscription that ends by `onCancel`.
    public convenience init(onCancel: @escaping @Sendable () -> Void) {
        self.init(pausesReading: nil, onCancel: onCancel)
    }

    init(pausesReading: (@Sendable (Bool) -> Void)?, onCancel: @escaping @Sendable () -> Void) {
        self.pausesReading = pausesReading
        self.atEnd = Lock([onCancel])
    }

    /// Ends the registration.
    ///
    /// Called on the connection's executor, no call follows. Called elsewhere, the batch of messages that is being
    /// handled at that moment may still be heard.
    public func cancel() {
        let atEnd = self.atEnd.withLock { atEnd in
            defer { atEnd = nil }
            return atEnd
        }
        for step in atEnd ?? [] { step() }
    }

    /// Calls `step` at the end, whoever brings it about; at once when it has come already.
    func atEnd(_ step: @escaping @Sendable () -> Void) {
        let isEnded = self.atEnd.withLock { atEnd in
            atEnd?.append(step)
            return atEnd == nil
        }
        if isEnded { step() }
    }
}
