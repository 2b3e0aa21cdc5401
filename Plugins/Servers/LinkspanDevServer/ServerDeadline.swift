internal import LinkspanRuntime

/// A deadline of something that lives on the server's loop.
///
/// Has one timer at most, however often it is set, and none once its owner is gone. A connection that serves requests
/// without a pause moves its deadline with each: the timer stays, and looks again when it comes too early.
final class ServerDeadline {
    private let context: ServerContext
    private let onPassed: () -> Void
    private var due: ContinuousClock.Instant?
    private var timer: (work: any ScheduledWork, time: ContinuousClock.Instant)?

    /// Makes a deadline that is not set; `onPassed` is called on the loop, and must not hold the owner.
    init(_ context: ServerContext, onPassed: @escaping () -> Void) {
        self.context = context
        self.onPassed = onPassed
    }

    deinit { self.timer?.work.cancel() }

    /// Sets the deadline again; nil for none.
    func set(_ due: ContinuousClock.Instant?) {
        self.due = due
        guard let due else { return self.disarm() }
        if let timer = self.timer, timer.time <= due { return }
        self.disarm()
        self.arm(due)
    }

    private func arm(_ time: ContinuousClock.Instant) {
        let work = self.context.schedule(after: max(.zero, ContinuousClock.now.duration(to: time))) { [weak self] in
            self?.expired()
        }
        self.timer = (work, time)
    }

    private func disarm() {
        self.timer?.work.cancel()
        self.timer = nil
    }

    private func expired() {
        self.timer = nil
        guard let due = self.due else { return }
        guard due <= .now else { return self.arm(due) }
        self.due = nil
        self.onPassed()
    }
}
