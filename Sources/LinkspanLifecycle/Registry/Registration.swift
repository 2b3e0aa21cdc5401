internal import LinkspanRuntime

/// The right to be in a registry; letting go of it removes what was registered.
public final class Registration: Sendable {
    private enum State: Sendable {
        case held
        case kept
        case cancelled
    }

    private let state = Lock(State.held)
    private let onCancel: @Sendable () -> Void
    private let onSettled: @Sendable () async -> ServiceState?

    init(
        onCancel: @escaping @Sendable () -> Void, onSettled: @escaping @Sendable () async -> ServiceState?
    ) {
        self.onCancel = onCancel
        self.onSettled = onSettled
    }

    deinit {
        self.cancel(.held)
    }

    /// Removes what was registered: it gets no event after this, and is stopped in the background.
    public func cancel() {
        self.cancel(nil)
    }

    /// Removes what was registered, and waits until it has stopped or its budget has passed.
    public func cancelAndDrain() async {
        self.cancel(nil)
        _ = await self.onSettled()
    }

    /// Leaves what was registered in the registry for good, whatever becomes of this object.
    public func keep() {
        self.state.withLock { state in
            if case .held = state {
                state = .kept
            }
        }
    }

    /// Waits until the service is no longer being started or stopped; `nil` once it is gone.
    ///
    /// Before the registry is started this waits for the start.
    public func settled() async -> ServiceState? {
        await self.onSettled()
    }

    private func cancel(_ expected: State?) {
        let cancels = self.state.withLock { state in
            switch (state, expected) {
            case (.cancelled, _), (.kept, .some): return false
            case (.held, _), (.kept, nil):
                state = .cancelled
                return true
            }
        }
        if cancels {
            self.onCancel()
        }
    }
}
