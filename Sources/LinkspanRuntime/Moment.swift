/// An instant of the continuous clock, in a form whose size the compiler knows.
///
/// Only the standard library knows the layout of `ContinuousClock.Instant`. A type that stores one is therefore copied,
/// compared with nil and destroyed by way of descriptions that are read at run time, and so is each type around it. What
/// every message passes through stores moments instead.
package struct Moment: InstantProtocol, Sendable {
    /// Any instant will do; all moments of the process are reckoned from it.
    private static let origin = ContinuousClock.now

    private let sinceOrigin: Duration

    /// The moment of an instant.
    package init(_ instant: ContinuousClock.Instant) { self.sinceOrigin = Self.origin.duration(to: instant) }

    /// The instant that it was made of.
    package var instant: ContinuousClock.Instant { Self.origin.advanced(by: self.sinceOrigin) }

    private init(sinceOrigin: Duration) { self.sinceOrigin = sinceOrigin }

    /// The present moment.
    package static var now: Self { Self(.now) }

    package func advanced(by duration: Duration) -> Self { Self(sinceOrigin: self.sinceOrigin + duration) }

    package func duration(to other: Self) -> Duration { other.sinceOrigin - self.sinceOrigin }

    package static func + (moment: Self, duration: Duration) -> Self { moment.advanced(by: duration) }

    package static func += (moment: inout Self, duration: Duration) { moment = moment + duration }

    package static func - (moment: Self, duration: Duration) -> Self { moment.advanced(by: .zero - duration) }

    package static func - (end: Self, start: Self) -> Duration { start.duration(to: end) }

    package static func < (left: Self, right: Self) -> Bool { left.sinceOrigin < right.sinceOrigin }
}

extension Scheduler {
    /// The present moment.
    package var moment: Moment { Moment(self.now) }

    /// Calls `work` once at `moment` or soon after it.
    package func schedule(
        at moment: Moment, on executor: (any JobExecutor)? = nil, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        self.schedule(at: moment.instant, on: executor, work)
    }
}
