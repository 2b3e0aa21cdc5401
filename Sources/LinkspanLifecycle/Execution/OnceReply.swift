internal import LinkspanRuntime

/// One value that is awaited in one place and sent, once, from another.
final class OnceReply<Value: Sendable>: Sendable {
    private struct State: Sendable {
        var value: Value?
        var continuation: CheckedContinuation<Value, Never>?
    }

    private let state = Lock(State())

    /// Sends the value; what comes after the first is ignored.
    func send(_ value: Value) {
        let continuation = self.state.withLock { state -> CheckedContinuation<Value, Never>? in
            guard state.value == nil else {
                return nil
            }
            state.value = value
            return state.continuation.take()
        }
        continuation?.resume(returning: value)
    }

    /// The value, once it is there.
    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                let value = self.state.withLock { state -> Value? in
                    if state.value == nil {
                        state.continuation = continuation
                    }
                    return state.value
                }
                if let value {
                    continuation.resume(returning: value)
                }
            }
        }
    }
}
