internal import LinkspanRuntime

/// Has the keeper visit a connection that nobody holds: when it goes down first, and when its idle timeout is over.
///
/// Ends when it is let go of.
final class IdleWatch: Sendable {
    private let timer: any ScheduledWork
    private let states: Subscription

    init(
        _ connection: PooledConnection, until end: Moment, by scheduler: any Scheduler,
        visit: @escaping @Sendable () -> Void
    ) {
        self.timer = scheduler.schedule(at: end, visit)
        // Once: a rule of the app that connects again what fails for good is not to do so without a pause.
        let isDown = Promise<Void>()
        isDown.whenFulfilled { visit() }
        self.states = connection.onStateChange { [inbox = connection.inbox] _ in
            // A link that was lost is followed by another attempt, which shows already.
            if inbox.withState({ $0.shown.value.state }) == .disconnected { isDown.fulfill() }
        }
    }

    deinit {
        self.timer.cancel()
        self.states.cancel()
    }
}
