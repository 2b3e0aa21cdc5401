/// Where a registry gets the time and its deadlines from.
public protocol LifecycleClock: Sendable {
    /// The time.
    var now: ContinuousClock.Instant { get }

    /// Calls `action` once at `deadline` or as soon as possible after; the action is short and does not block.
    func schedule(at deadline: ContinuousClock.Instant, _ action: @escaping @Sendable () -> Void) -> LifecycleTimer
}

/// A deadline that can be called off.
public struct LifecycleTimer: Sendable {
    private let onCancel: @Sendable () -> Void

    /// Makes a timer from what calls it off.
    public init(onCancel: @escaping @Sendable () -> Void) {
        self.onCancel = onCancel
    }

    /// Calls the deadline off; without effect when it has passed.
    public func cancel() {
        self.onCancel()
    }
}

extension LifecycleClock where Self == SystemLifecycleClock {
    /// The machine's monotonic clock.
    public static var system: SystemLifecycleClock { .shared }
}
