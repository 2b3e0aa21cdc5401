internal import LinkspanRuntime

/// Events of messages that wait to be handed over together.
///
/// It has a lock of its own, which is all that the path of sending ever takes: receivers, which run behind everything else
/// and may be interrupted anywhere, never hold it.
final class MessageTray: Sendable {
    struct Event: Sendable {
        var event: LifecycleEvent
        var time: ContinuousClock.Instant
        var cause: UInt64?
    }

    /// Who wants events of messages.
    enum Audience: Sendable {
        case nobody
        case somebody
        /// The registry is nested in another, which knows.
        case elsewhere
    }

    private struct State: Sendable {
        var events: [Event] = []
        /// Whether somebody will empty it.
        var isAwaited = false
        var audience = Audience.nobody
    }

    private let state = Lock(State())

    var audience: Audience {
        get { self.state.withLock { $0.audience } }
        set { self.state.withLock { $0.audience = newValue } }
    }

    /// Keeps an event.
    ///
    /// - Returns: whether the caller has to see to it that the tray is emptied.
    func add(_ event: Event) -> Bool {
        self.state.withLock { state in
            state.events.append(event)
            defer { state.isAwaited = true }
            return !state.isAwaited
        }
    }

    /// Takes everything out.
    func empty() -> [Event] {
        self.state.withLock { state in
            state.isAwaited = false
            guard !state.events.isEmpty else { return [] }
            defer { state.events = [] }
            return state.events
        }
    }
}
