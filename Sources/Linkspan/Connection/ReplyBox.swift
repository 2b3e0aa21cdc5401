internal import LinkspanRuntime

/// One outcome, for one task that waits for it.
final class ReplyBox<Outcome: Sendable>: Sendable {
    private enum State: Sendable {
        case empty
        case waiting(UnsafeContinuation<Outcome, Never>)
        case full(Outcome)
    }

    private let state = Lock(State.empty)

    func set(_ outcome: Outcome) {
        let waiter = self.state.withLock { state -> UnsafeContinuation<Outcome, Never>? in
            switch state {
            case .empty:
                state = .full(outcome)
                return nil
            case .waiting(let continuation):
                state = .full(outcome)
                return continuation
            case .full:
                return nil
            }
        }
        waiter?.resume(returning: outcome)
    }

    func value() async -> Outcome {
        await withUnsafeContinuation { continuation in
            let outcome = self.state.withLock { state -> Outcome? in
                guard case .full(let outcome) = state else {
                    state = .waiting(continuation)
                    return nil
                }
                return outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }
}
