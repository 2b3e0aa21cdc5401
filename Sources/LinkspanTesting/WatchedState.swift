internal import LinkspanRuntime

/// State that many threads change and a test waits for.
final class WatchedState<Value: Sendable>: Sendable {
    private struct Watcher: Sendable {
        let condition: @Sendable (Value) -> Bool
        let answer: Promise<Bool>
    }

    private struct Guarded: Sendable {
        var value: Value
        var watchers: [UInt64: Watcher] = [:]
        var lastWatcher: UInt64 = 0
    }

    /// The record of events and of tasks that wait for more: between the executors that report and the test.
    private let guarded: Lock<Guarded>

    init(_ value: Value) { self.guarded = Lock(Guarded(value: value)) }

    var value: Value { self.guarded.withLock { $0.value } }

    /// Changes the state, and wakes those whose condition it fulfils now.
    func change<Result>(_ body: (inout Value) -> Result) -> Result {
        let (result, news) = self.guarded.withLock { guarded -> (Result, (Value, [Watcher])?) in
            let result = body(&guarded.value)
            return (result, guarded.watchers.isEmpty ? nil : (guarded.value, Array(guarded.watchers.values)))
        }
        // Outside the lock, because conditions are foreign code.
        if let (value, watchers) = news {
            for watcher in watchers where watcher.condition(value) { watcher.answer.fulfill(true) }
        }
        return result
    }

    /// Waits, in real time, until the state fulfils a condition.
    ///
    /// - Returns: false when it did not in time, or when the task was cancelled.
    func wait(within deadline: Duration, until condition: @escaping @Sendable (Value) -> Bool) async -> Bool {
        let answer = Promise<Bool>()
        let (number, value) = self.guarded.withLock { guarded in
            guarded.lastWatcher += 1
            guarded.watchers[guarded.lastWatcher] = Watcher(condition: condition, answer: answer)
            return (guarded.lastWatcher, guarded.value)
        }
        if condition(value) { answer.fulfill(true) }
        let timer = SystemScheduler.shared.schedule(at: .now + deadline) { answer.fulfill(false) }
        let isFulfilled = await withTaskCancellationHandler {
            await answer.value
        } onCancel: {
            answer.fulfill(false)
        }
        timer.cancel()
        self.guarded.withLock { $0.watchers[number] = nil }
        return isFulfilled
    }
}
