package import LinkspanRuntime

/// The times at which a server's jobs run; by default at once, in their turn, and after the delay.
package protocol ServerClock: AnyObject {
    var loop: any NetworkLoop { get }

    /// Runs a job for received bytes.
    func arrive(_ job: @escaping () -> Void)

    /// Runs a job in a later turn of the loop.
    func perform(_ job: @escaping () -> Void)

    /// Runs a job after a delay.
    func schedule(after delay: Duration, _ job: @escaping () -> Void) -> any ScheduledWork
}

extension ServerClock {
    package func arrive(_ job: @escaping () -> Void) { job() }

    package func perform(_ job: @escaping () -> Void) { self.loop.executeLocally(job) }

    package func schedule(after delay: Duration, _ job: @escaping () -> Void) -> any ScheduledWork {
        self.loop.scheduleLocally(after: delay, job)
    }
}

/// A deadline of something that lives on the server's loop.
///
/// Has one timer at most, however often it is set, and none once its owner is gone. A connection that serves requests
/// without a pause moves its deadline with each: the timer stays, and looks again when it comes too early.
package final class ServerDeadline {
    private let clock: any ServerClock
    private let onPassed: () -> Void
    private var due: ContinuousClock.Instant?
    private var timer: (work: any ScheduledWork, time: ContinuousClock.Instant)?

    /// Makes a deadline that is not set; `onPassed` is called on the loop, and must not hold the owner.
    package init(_ clock: any ServerClock, onPassed: @escaping () -> Void) {
        self.clock = clock
        self.onPassed = onPassed
    }

    deinit { self.timer?.work.cancel() }

    /// Sets the deadline again; nil for none.
    package func set(_ due: ContinuousClock.Instant?) {
        self.due = due
        guard let due else { return self.disarm() }
        if let timer = self.timer, timer.time <= due { return }
        self.disarm()
        self.arm(due)
    }

    private func arm(_ time: ContinuousClock.Instant) {
        let work = self.clock.schedule(after: max(.zero, ContinuousClock.now.duration(to: time))) { [weak self] in
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
