/// One value that any thread supplies, once, and that one task awaits or callbacks hear.
package final class Promise<Value: Sendable>: Sendable {
    private enum State: Sendable {
        case empty
        case awaited(UnsafeContinuation<Value, Never>)
        case observed([@Sendable (Value) -> Void])
        case fulfilled(Value)
    }

    /// The value or who waits for it: between the thread that fulfils and those that wait.
    private let state = Lock(State.empty)

    /// Makes a promise without a value.
    package init() {}

    /// Supplies the value; only the first one counts.
    package func fulfill(_ value: Value) {
        let former = self.state.withLock { state -> State in
            let former = state
            if case .fulfilled = former {} else { state = .fulfilled(value) }
            return former
        }
        switch former {
        case .awaited(let continuation): continuation.resume(returning: value)
        case .observed(let observers): for observer in observers { observer(value) }
        case .empty, .fulfilled: ()
        }
    }

    /// The value, if it has been supplied.
    package var fulfilled: Value? {
        self.state.withLock { if case .fulfilled(let value) = $0 { value } else { nil } }
    }

    /// Calls `observer` with the value: at once if there is one, or on the thread that supplies it, after the observers
    /// that were given before.
    package func whenFulfilled(_ observer: @escaping @Sendable (Value) -> Void) {
        let value = self.state.withLock { state -> Value? in
            switch state {
            case .fulfilled(let value): return value
            case .empty: state = .observed([observer])
            case .observed(let observers): state = .observed(observers + [observer])
            case .awaited(let continuation):
                state = .observed([{ continuation.resume(returning: $0) }, observer])
            }
            return nil
        }
        if let value { observer(value) }
    }

    /// The value, as soon as there is one.
    ///
    /// Only one task may await it at a time. Cancelling the task does not end the wait.
    package var value: Value {
        get async {
            await withUnsafeContinuation { continuation in
                let value = self.state.withLock { state -> Value? in
                    switch state {
                    case .fulfilled(let value): return value
                    case .awaited: preconditionFailure("a promise is awaited by two tasks")
                    case .empty: state = .awaited(continuation)
                    case .observed(let observers):
                        state = .observed(observers + [{ continuation.resume(returning: $0) }])
                    }
                    return nil
                }
                if let value { continuation.resume(returning: value) }
            }
        }
    }
}

extension Promise where Value == Void {
    /// Ends the wait.
    package func fulfill() { self.fulfill(()) }

    /// Waits until it is fulfilled, or until `deadline`.
    package func wait(until deadline: ContinuousClock.Instant, by scheduler: any Scheduler) async {
        let timer = scheduler.schedule(at: deadline) { self.fulfill() }
        await self.value
        timer.cancel()
    }
}
