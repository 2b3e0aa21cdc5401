/// One value that any thread supplies, once, and that tasks await or callbacks hear.
package final class Promise<Value: Sendable>: Sendable {
    private enum State: Sendable {
        case awaited([@Sendable (Value) -> Void])
        case fulfilled(Value)
    }

    /// The value or who waits for it: between the thread that fulfils and those that wait.
    private let state = Lock(State.awaited([]))

    /// Makes a promise without a value.
    package init() {}

    /// Supplies the value; only the first one counts.
    package func fulfill(_ value: Value) {
        let observers = self.state.withLock { state -> [@Sendable (Value) -> Void] in
            guard case .awaited(let observers) = state else { return [] }
            state = .fulfilled(value)
            return observers
        }
        for observer in observers { observer(value) }
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
            case .awaited(let observers): state = .awaited(observers + [observer])
            }
            return nil
        }
        if let value { observer(value) }
    }

    /// The value, as soon as there is one.
    ///
    /// Cancelling the task does not end the wait.
    package var value: Value {
        get async {
            await withUnsafeContinuation { continuation in
                self.whenFulfilled { continuation.resume(returning: $0) }
            }
        }
    }

    /// The value, as soon as there is one; from `deadline` on it is `fallback`, unless it was supplied before.
    package func value(
        until deadline: ContinuousClock.Instant, by scheduler: any Scheduler, or fallback: Value
    ) async -> Value {
        let timer = scheduler.schedule(at: deadline) { self.fulfill(fallback) }
        defer { timer.cancel() }
        return await self.value
    }
}

extension Promise where Value == Void {
    /// Ends the wait.
    package func fulfill() { self.fulfill(()) }

    /// Waits until it is fulfilled, or until `deadline`.
    package func wait(until deadline: ContinuousClock.Instant, by scheduler: any Scheduler) async {
        await self.value(until: deadline, by: scheduler, or: ())
    }
}
