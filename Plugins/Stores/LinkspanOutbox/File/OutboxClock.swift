#if OUTBOX
private import Foundation

/// The time, for ages that are kept over restarts.
///
/// The time of the day can be set; the time since the system started cannot, and means nothing after the next start. So a
/// row has both, and the second counts as long as it is of the same start.
struct OutboxClock: Sendable {
    /// A moment by both clocks, in milliseconds.
    struct Moment: Hashable, Sendable {
        /// Since 1970, by the clock that people and networks set.
        var wall: Int64
        /// Since the system started, sleep included.
        var sinceStart: Int64
    }

    /// Identifies the start of the system.
    let start: String
    /// The present moment.
    let now: @Sendable () -> Moment

    /// The clocks of the system.
    static let system = Self(start: Self.systemStart()) {
        Moment(wall: Self.milliseconds(CLOCK_REALTIME), sinceStart: Self.milliseconds(Self.sinceStart))
    }

    #if canImport(Darwin)
    // Goes on while the machine sleeps.
    private static let sinceStart = CLOCK_MONOTONIC
    #else
    private static let sinceStart = CLOCK_BOOTTIME
    #endif

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    private static func systemStart() -> String {
        #if canImport(Darwin)
        var text = [CChar](repeating: 0, count: 64)
        var size = text.count
        guard sysctlbyname("kern.bootsessionuuid", &text, &size, nil, 0) == 0 else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #else
        let text = (try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)) ?? ""
        return String(text.prefix { !$0.isWhitespace })
        #endif
    }

    /// The milliseconds from an earlier moment until now; never negative.
    ///
    /// - Parameters:
    ///   - moment: the earlier moment.
    ///   - start: the start of the system that it was in; an empty one is unknown.
    /// - Returns: the milliseconds.
    func elapsed(since moment: Moment, in start: String) -> Int64 {
        let now = self.now()
        let isSameStart = !start.isEmpty && start == self.start && now.sinceStart >= moment.sinceStart
        let (elapsed, isBeyond) =
            isSameStart
            ? now.sinceStart.subtractingReportingOverflow(moment.sinceStart)
            : now.wall.subtractingReportingOverflow(moment.wall)
        return isBeyond ? .max : max(0, elapsed)
    }
}
#endif
