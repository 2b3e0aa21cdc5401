private import CLinkspanRuntime

/// An instant of the continuous clock in whole nanoseconds, in a form whose size the compiler knows.
///
/// Only the standard library knows the layout of `ContinuousClock.Instant`. A type that stores one is therefore copied,
/// compared with nil and destroyed by way of descriptions that are read at run time, and so is each type around it. What
/// every message passes through stores moments instead, which are half as large. They reach 292 years; an instant beyond
/// becomes the first or the last moment.
package struct Moment: InstantProtocol, Sendable {
    // Any instant will do; all moments of the process are reckoned from it. The system's time is from just before, so that no
    // deadline seems to lie ahead when its instant has come.
    private static let origin = (system: clinkspan_now(), instant: ContinuousClock.now)

    /// Since the origin.
    private let nanoseconds: Int64

    /// The moment of an instant.
    package init(_ instant: ContinuousClock.Instant) {
        self.nanoseconds = Self.origin.instant.duration(to: instant).nanoseconds
    }

    /// The instant that it was made of.
    package var instant: ContinuousClock.Instant { Self.origin.instant.advanced(by: .nanoseconds(self.nanoseconds)) }

    private init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The present moment, in a quarter of the instructions that `ContinuousClock` takes: each read and each request needs it (W2).
    package static var now: Self { Self(nanoseconds: clinkspan_now() &- Self.origin.system) }

    package func advanced(by duration: Duration) -> Self {
        let (sum, isBeyond) = self.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return Self(nanoseconds: isBeyond ? (duration < .zero ? .min : .max) : sum)
    }

    package func duration(to other: Self) -> Duration {
        let (difference, isBeyond) = other.nanoseconds.subtractingReportingOverflow(self.nanoseconds)
        return .nanoseconds(isBeyond ? (other < self ? .min : .max) : difference)
    }

    package static func + (moment: Self, duration: Duration) -> Self { moment.advanced(by: duration) }

    package static func += (moment: inout Self, duration: Duration) { moment = moment + duration }

    package static func - (moment: Self, duration: Duration) -> Self { moment.advanced(by: .zero - duration) }

    package static func - (end: Self, start: Self) -> Duration { start.duration(to: end) }

    package static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }
}

extension Duration {
    /// The whole nanoseconds, rounded down; the least or the largest number for what is beyond 292 years.
    package var nanoseconds: Int64 {
        // By one division of the attoseconds, moved up so that none is negative: `components` takes ten times as long.
        let half: Int64 = 500_000_000
        guard self._high < half else { return .max }
        guard self._high >= -half else { return .min }
        let attoseconds = (high: UInt64(self._high + half), low: self._low)
        let nanoseconds = (2 * half).magnitude.dividingFullWidth(attoseconds).quotient
        return Int64(truncatingIfNeeded: nanoseconds ^ 1 << 63)
    }
}

extension Scheduler {
    /// Calls `work` once at `moment` or soon after it.
    package func schedule(
        at moment: Moment, on executor: (any JobExecutor)? = nil, _ work: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        self.schedule(at: moment.instant, on: executor, work)
    }
}
