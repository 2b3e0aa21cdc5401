internal import Linkspan
internal import LinkspanRuntime

/// What is wrong with a server on purpose; outlives its restarts.
final class FaultSwitches: Sendable {
    private struct State: Sendable {
        var isStalled = false
        var refusal: LinkspanError?
        var delay = Duration.zero
    }

    /// The switches: set by a test's thread, read on the server's loop.
    private let state = Lock(State())

    var isStalled: Bool { self.state.withLock { $0.isStalled } }

    /// Why nobody is let in; nil when the hub decides.
    var refusal: LinkspanError? { self.state.withLock { $0.refusal } }

    /// How much later than they arrive bytes are looked at.
    var delay: Duration { self.state.withLock { $0.delay } }

    func set(isStalled: Bool) { self.state.withLock { $0.isStalled = isStalled } }
    func set(refusal: LinkspanError?) { self.state.withLock { $0.refusal = refusal } }
    func set(delay: Duration) { self.state.withLock { $0.delay = delay } }
}
