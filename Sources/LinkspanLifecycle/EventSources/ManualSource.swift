internal import LinkspanRuntime

/// An event source whose events come from calls: for tests, and for frameworks that report events in their own way.
public final class ManualSource<Event: LifecycleEvent>: EventSource {
    private struct State: Sendable {
        var emit: (@Sendable (Event) -> Void)?
        var waiting: [Event] = []
    }

    // Guards the events that wait, and where the others go: callers contend with the start and end of the source.
    private let state = Lock(State())

    /// Makes a source without events.
    public init() {}

    /// Emits an event; events sent before the source runs are kept until it does.
    public func send(_ event: Event) {
        let emit = self.state.withLock { state in
            if state.emit == nil {
                state.waiting.append(event)
            }
            return state.emit
        }
        emit?(event)
    }

    /// Emits what is sent, until the task is cancelled.
    public func run(_ emit: @escaping @Sendable (Event) -> Void) async throws {
        let waiting = self.state.withLock { state in
            state.emit = emit
            defer { state.waiting = [] }
            return state.waiting
        }
        for event in waiting {
            emit(event)
        }
        await untilCancelled()
        self.state.withLock { $0.emit = nil }
    }
}
