/// One value that one task awaits and any thread supplies, once.
public final class Promise<Value: Sendable>: Sendable {
    private enum State: Sendable {
        case empty
        case awaited(UnsafeContinuation<Value, Never>)
        case fulfilled(Value)
    }

    /// The value or who waits for it: between the one that fulfils and the one that waits.
    private let state = Lock(State.empty)

    /// Makes a promise without a value.
    public init() {}

    /// Supplies the value; only the first one counts.
    public func fulfill(_ value: Value) {
        let waiter = self.state.withLock { state -> UnsafeContinuation<Value, Never>? in
            switch state {
            case .empty:
                state = .fulfilled(value)
                return nil
            case .awaited(let continuation):
                state = .fulfilled(value)
                return continuation
            case .fulfilled:
                return nil
            }
        }
        waiter?.resume(returning: value)
    }

    /// The value, as soon as there is one.
    ///
    /// Only one task may await it at a time. Cancelling the task does not end the wait.
    public var value: Value {
        get async {
            await withUnsafeContinuation { continuation in
                let value = self.state.withLock { state -> Value? in
                    switch state {
                    case .fulfilled(let value):
                        return value
                    case .awaited:
                        preconditionFailure("a promise is awaited by two tasks")
                    case .empty:
                        state = .awaited(continuation)
                        return nil
                    }
                }
                if let value { continuation.resume(returning: value) }
            }
        }
    }
}

extension Promise where Value == Void {
    /// Ends the wait.
    public func fulfill() { self.fulfill(()) }
}
