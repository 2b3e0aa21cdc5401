internal import Linkspan
internal import LinkspanRuntime

/// The faults that are switched on; they stay on when the server restarts.
final class ServerFaults: Sendable {
    private struct State: Sendable {
        var isStalled = false
        var refusal: LinkspanError?
        var delay = Duration.zero
    }

    /// Set by the threads that operate the server, read on its loop.
    private let state = Lock(State())

    /// Whether the server has stopped reading and writing, as one that hangs.
    var isStalled: Bool {
        get { self.state.withLock { $0.isStalled } }
        set { self.state.withLock { $0.isStalled = newValue } }
    }

    /// The reason why no client is admitted; nil when the hub decides.
    var refusal: LinkspanError? {
        get { self.state.withLock { $0.refusal } }
        set { self.state.withLock { $0.refusal = newValue } }
    }

    /// The delay before received bytes are processed.
    var delay: Duration {
        get { self.state.withLock { $0.delay } }
        set { self.state.withLock { $0.delay = newValue } }
    }
}
