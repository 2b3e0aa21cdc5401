private import CLinkspanRuntime

/// A timer of the system, on a clock that counts sleep; one thread waits for it, any may set it.
struct SystemTimer: Sendable {
    private let descriptor: Int32

    /// Opens a timer, which is never closed; nil when the process has no descriptor left.
    init?() {
        self.descriptor = clinkspan_timer_open()
        if self.descriptor < 0 { return nil }
    }

    /// Sets the timer to expire once, after `span`.
    func expire(in span: Duration) {
        let result = clinkspan_timer_set(self.descriptor, min(max(span.nanoseconds, 1), 1 << 62))
        assert(result == 0, "the timer cannot be set")
    }

    /// Waits until the timer expires.
    func wait() { clinkspan_timer_wait(self.descriptor) }
}
