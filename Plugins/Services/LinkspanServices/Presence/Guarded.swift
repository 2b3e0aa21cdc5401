internal import LinkspanRuntime

/// State that any thread may read, behind the one lock of this module.
final class Guarded<State: Sendable>: Sendable {
    // Guards the state of a helper: the connection's executor contends with the app's threads.
    private let state: Lock<State>

    init(_ state: State) { self.state = Lock(state) }

    func withLock<Result>(_ body: (inout State) -> Result) -> Result { self.state.withLock { body(&$0) } }
}
