internal import LinkspanRuntime

/// A job that a loop runs once, later, unless it is cancelled before.
struct LoopTimer: ScheduledWork {
    /// Nil when the loop had ended before.
    let key: LoopMailbox.TimerKey?
    let loop: any ThreadedLoop

    func cancel() {
        if let key { self.loop.cancel(key) }
    }
}
