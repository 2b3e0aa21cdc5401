internal import LinkspanRuntime

/// The end of a call to a service, as its caller sees it.
enum CallOutcome<Value: Sendable>: Sendable {
    case returned(Value)
    case threw(any Error)
    /// The deadline came first; the call was cancelled and may still be going on.
    case abandoned
}

/// The state of a call to a service: whether it still counts.
///
/// Shared by the registry, the thread that runs the service, and the scope that the service was given.
final class ServiceCall: Sendable {
    private enum End: Sendable {
        case returned
        case abandoned
    }

    private struct State: Sendable {
        var end: End?
        var timers: [any ScheduledWork] = []
    }

    // Guards the progress of one call. The service's thread contends with the timer that limits it.
    private let state = Lock(State())

    /// Whether the registry has given the call up.
    var isAbandoned: Bool { self.state.withLock { $0.end == .abandoned } }

    /// Cancels `timer` when the call ends.
    func keep(_ timer: any ScheduledWork) {
        let isOver = self.state.withLock { state in
            if state.end == nil { state.timers.append(timer) }
            return state.end != nil
        }
        if isOver { timer.cancel() }
    }

    /// Notes that the call has returned.
    ///
    /// - Returns: whether it counts; false after it was given up.
    func finish() -> Bool { self.end(.returned) }

    /// Gives the call up.
    ///
    /// - Returns: whether that is news; false after it has returned.
    @discardableResult
    func abandon() -> Bool { self.end(.abandoned) }

    private func end(_ end: End) -> Bool {
        let timers = self.state.withLock { state -> [any ScheduledWork]? in
            guard state.end == nil else { return nil }
            state.end = end
            defer { state.timers = [] }
            return state.timers
        }
        for timer in timers ?? [] { timer.cancel() }
        return timers != nil
    }
}
