internal import Linkspan
internal import LinkspanRuntime

/// The state of a development server that several threads use: its run, its port, and the faults that were switched on.
///
/// Faults stay switched on when the server restarts.
final class ServerCondition: Sendable {
    private enum Phase: Sendable {
        case stopped
        case changing
        case running(ServerRun)
    }

    private struct State: Sendable {
        var phase = Phase.stopped
        var port: Int
        var isStalled = false
        var refusal: LinkspanError?
        var delay = Duration.zero
    }

    /// Run, port and faults: set by the threads that operate the server, read by them and on its loop.
    private let state: Lock<State>

    init(port: Int) { self.state = Lock(State(port: port)) }

    /// The port, while the server runs and after; the configured one before its first start.
    var port: Int { self.state.withLock { $0.port } }

    var run: ServerRun? {
        self.state.withLock { state in
            if case .running(let run) = state.phase { run } else { nil }
        }
    }

    /// Begins to start the server.
    ///
    /// - Returns: the port; nil unless the server is stopped.
    func beginStart() -> Int? {
        self.state.withLock { state in
            guard case .stopped = state.phase else { return nil }
            state.phase = .changing
            return state.port
        }
    }

    func started(_ run: ServerRun, port: Int) {
        self.state.withLock { ($0.phase, $0.port) = (.running(run), port) }
    }

    /// Begins to stop the server.
    ///
    /// - Returns: the run; nil unless the server runs.
    func beginStop() -> ServerRun? {
        self.state.withLock { state in
            guard case .running(let run) = state.phase else { return nil }
            state.phase = .changing
            return run
        }
    }

    func stopped() { self.state.withLock { $0.phase = .stopped } }
}

// MARK: - Faults

extension ServerCondition {
    var isStalled: Bool { self.state.withLock { $0.isStalled } }

    /// The reason why no client is admitted; nil when the hub decides.
    var refusal: LinkspanError? { self.state.withLock { $0.refusal } }

    /// The delay before received bytes are processed.
    var delay: Duration { self.state.withLock { $0.delay } }

    func set(isStalled: Bool) { self.state.withLock { $0.isStalled = isStalled } }
    func set(refusal: LinkspanError?) { self.state.withLock { $0.refusal = refusal } }
    func set(delay: Duration) { self.state.withLock { $0.delay = delay } }
}
