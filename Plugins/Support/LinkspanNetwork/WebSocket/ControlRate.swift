internal import LinkspanRuntime

/// Counts pings and pongs, because answering them costs the peer that sends them nothing.
struct ControlRate: Sendable {
    /// The most that are borne in a second; honest peers send one in many.
    static let maximum = 200
    static let excess = "more control frames came in a second than the \(maximum) that are accepted here"

    private var windowEnd: Moment?
    private var count = 0

    /// Counts frames, and says whether they are too many.
    mutating func isFlooded(by frames: Int, now: Moment) -> Bool {
        if self.windowEnd.map({ now >= $0 }) ?? true {
            self.windowEnd = now.advanced(by: .seconds(1))
            self.count = 0
        }
        self.count += frames
        return self.count > Self.maximum
    }
}
