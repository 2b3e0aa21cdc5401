internal import LinkspanRuntime

/// How a call to a service ended, as its caller sees it.
enum CallOutcome<Value: Sendable>: Sendable {
    case returned(Value)
    case threw(any Error)
    /// The deadline came first; the call was cancelled and may still be going on.
    case abandoned
}

/// One call to a service that its caller waits for until a deadline, and not longer.
final class BoundedCall<Value: Sendable>: Sendable {
    private struct State: Sendable {
        var continuation: CheckedContinuation<CallOutcome<Value>, Never>?
        var timers: [any ScheduledWork] = []
        var task: Task<Void, Never>?
        var isCancelled = false
        var outcome: CallOutcome<Value>?
    }

    private let state = Lock(State())
    private let threads: ServiceThreads
    private let scheduler: any Scheduler
    private let mark: CallMark

    init(threads: ServiceThreads, scheduler: any Scheduler, mark: CallMark) {
        self.threads = threads
        self.scheduler = scheduler
        self.mark = mark
    }

    /// Runs `body` on the service threads and waits for it until `deadline`.
    ///
    /// - Parameters:
    ///   - deadline: When to stop waiting.
    ///   - grace: How long the call may go on after the caller's task was cancelled; `nil` if cancelling the caller does
    ///     not concern the call.
    ///   - onLateEnd: Called with the outcome if it comes after the caller has gone.
    ///   - body: The call.
    /// - Returns: How the call ended, or that it was given up.
    func run(
        until deadline: ContinuousClock.Instant, grace: Duration?,
        onLateEnd: @escaping @Sendable (CallOutcome<Value>) -> Void = { _ in },
        _ body: @escaping @Sendable () async throws -> Value
    ) async -> CallOutcome<Value> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.begin(continuation, deadline, onLateEnd, body)
            }
        } onCancel: {
            if let grace {
                self.cancel(grace: grace)
            }
        }
    }

    private func begin(
        _ continuation: CheckedContinuation<CallOutcome<Value>, Never>, _ deadline: ContinuousClock.Instant,
        _ onLateEnd: @escaping @Sendable (CallOutcome<Value>) -> Void,
        _ body: @escaping @Sendable () async throws -> Value
    ) {
        // The caller may have been cancelled, and the grace be over, before the call began.
        let outcome = self.state.withLock { state in
            if state.outcome == nil {
                state.continuation = continuation
            }
            return state.outcome
        }
        if let outcome {
            return continuation.resume(returning: outcome)
        }
        // Before the call, so that whoever sees it begin knows that its time is running.
        self.expire(at: deadline)
        let task = self.threads.begin {
            let outcome: CallOutcome<Value>
            do {
                outcome = .returned(try await body())
            } catch {
                outcome = .threw(error)
            }
            if !self.finish(outcome) {
                onLateEnd(outcome)
            }
        }
        let isCancelled = self.state.withLock { state in
            if state.outcome == nil {
                state.task = task
            }
            return state.isCancelled || state.outcome != nil
        }
        if isCancelled {
            self.threads.submit { task.cancel() }
        }
    }

    /// Asks the call to end, and stops waiting for it after `grace`.
    func cancel(grace: Duration) {
        let task = self.state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        self.cancelAside(task)
        self.expire(at: self.scheduler.now.advanced(by: grace))
    }

    /// Cancelling runs the service's own cancellation handlers, which may block: never on the thread of who cancels.
    private func cancelAside(_ task: Task<Void, Never>?) {
        if let task {
            self.threads.submit { task.cancel() }
        }
    }

    private func expire(at deadline: ContinuousClock.Instant) {
        let timer = self.scheduler.schedule(at: deadline) {
            let task = self.state.withLock { $0.task }
            if self.finish(.abandoned) {
                self.cancelAside(task)
            }
        }
        let isOver = self.state.withLock { state in
            guard state.outcome == nil else {
                return true
            }
            state.timers.append(timer)
            return false
        }
        if isOver {
            timer.cancel()
        }
    }

    /// Resumes the caller, once; `false` for those that come later.
    private func finish(_ outcome: CallOutcome<Value>) -> Bool {
        let (continuation, timers) = self.state.withLock { state in
            guard state.outcome == nil else {
                return (nil as CheckedContinuation<CallOutcome<Value>, Never>?, [any ScheduledWork]?.none)
            }
            if case .abandoned = outcome {
                // Before the caller knows, so that nothing the call does counts after it was reported.
                self.mark.abandon()
            }
            state.outcome = outcome
            state.task = nil
            defer {
                state.continuation = nil
                state.timers = []
            }
            return (state.continuation, state.timers)
        }
        guard let timers else {
            return false
        }
        for timer in timers {
            timer.cancel()
        }
        continuation?.resume(returning: outcome)
        return true
    }
}

/// Whether a call still counts; shared by the call and the scope it was given.
final class CallMark: Sendable {
    private let abandoned = Lock(false)

    var isAbandoned: Bool { self.abandoned.withLock { $0 } }

    func abandon() {
        self.abandoned.withLock { $0 = true }
    }
}
