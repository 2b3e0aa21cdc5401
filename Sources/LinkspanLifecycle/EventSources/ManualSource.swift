internal import LinkspanRuntime

/// A source that is told what happens: for tests, and for platforms and frameworks that have their own way to know.
public final class ManualSource<Event: LifecycleEvent>: EventSource {
    private struct State: Sendable {
        var emit: (@Sendable (Event) -> Void)?
        var waiting: [Event] = []
    }

    private let state = Lock(State())

    /// Makes a source to which nothing has happened.
    public init() {}

    /// Tells what happens; what is told before the source runs is kept for then.
    public func send(_ event: Event) {
        let emit = self.state.withLock { state in
            if state.emit == nil {
                state.waiting.append(event)
            }
            return state.emit
        }
        emit?(event)
    }

    /// Hands on what is told, until the task is cancelled.
    public func run(_ emit: @escaping @Sendable (Event) -> Void) async throws {
        let waiting = self.state.withLock { state in
            state.emit = emit
            defer { state.waiting = [] }
            return state.waiting
        }
        for event in waiting {
            emit(event)
        }
        let end = Promise<Void>()
        await withTaskCancellationHandler {
            await end.value
        } onCancel: {
            end.fulfill()
        }
        self.state.withLock { $0.emit = nil }
    }
}
