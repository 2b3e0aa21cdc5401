package import LinkspanRuntime

/// Counts pings and pongs, because answering them costs the peer that sends them nothing.
package struct ControlRate: Sendable {
    private var windowEnd: Moment?
    private var count = 0

    package init() {}

    /// Counts frames, and says whether they are more than `most` in a second.
    package mutating func isFlooded(by frames: Int, most: Int, now: Moment) -> Bool {
        if self.windowEnd.map({ now >= $0 }) ?? true {
            self.windowEnd = now.advanced(by: .seconds(1))
            self.count = 0
        }
        self.count += frames
        return self.count > most
    }
}
