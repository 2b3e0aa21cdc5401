internal import LinkspanRuntime

/// A job that a loop runs once, later, unless it is cancelled before.
struct LoopTimer: ScheduledWork {
    /// Nil when the loop had ended before.
    let key: EventLoop.Mailbox.TimerKey?
    let loop: EventLoop

    func cancel() {
        if let key { self.loop.cancel(key) }
    }
}
