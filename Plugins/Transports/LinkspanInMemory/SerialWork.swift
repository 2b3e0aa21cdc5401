internal import DequeModule
internal import LinkspanRuntime

/// Runs jobs one at a time and in order, on the thread of whoever asks while nothing is running.
///
/// A job asked for from inside a job runs after it, so nothing is ever re-entered.
final class SerialWork: Sendable {
    private struct State: Sendable {
        var jobs: Deque<@Sendable () -> Void> = []
        var isRunning = false
    }

    private let state = Lock(State())

    func perform(_ job: @escaping @Sendable () -> Void) {
        let mustRun = self.state.withLock { state in
            state.jobs.append(job)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustRun { self.runAll() }
    }

    private func runAll() {
        while true {
            let job = self.state.withLock { state in
                let job = state.jobs.popFirst()
                state.isRunning = job != nil
                return job
            }
            guard let job else { return }
            job()
        }
    }
}
