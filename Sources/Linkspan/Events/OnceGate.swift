internal import LinkspanRuntime

/// Lets one through, whoever comes first, and then ends the registration that it belongs to.
final class OnceGate: Sendable {
    private struct State: Sendable {
        var isOpen = true
        var isEnded = false
        var subscription: Subscription?
    }

    /// Between the connection's executor and the holder that cancels.
    private let state = Lock(State())

    /// Whether the caller is the one.
    func pass() -> Bool {
        self.state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
    }

    /// Keeps the registration, which may have served its purpose already.
    func own(_ subscription: Subscription) {
        let isEnded = self.state.withLock { state in
            if !state.isEnded { state.subscription = subscription }
            return state.isEnded
        }
        if isEnded { subscription.cancel() }
    }

    /// Lets nobody through any more and cancels the registration.
    func end() {
        let subscription = self.state.withLock { state in
            state.isOpen = false
            state.isEnded = true
            defer { state.subscription = nil }
            return state.subscription
        }
        subscription?.cancel()
    }
}
