/// Decides when the depth of a queue is reported: when it has doubled or halved, and near its limit.
struct QueueDepth: Sendable, Equatable {
    /// Below this depth a queue counts as empty: what is merely under way is not worth telling.
    private static let floor = 16

    private var level = 0
    private var isHigh = false
    private var flush: Flush?

    private struct Flush: Sendable, Equatable {
        var count: Int
        var since: ContinuousClock.Instant
    }

    mutating func beginFlush(_ depth: Int, now: ContinuousClock.Instant) {
        self.flush = Flush(count: depth, since: now)
    }

    mutating func changed(to depth: Int, limit: Int, now: ContinuousClock.Instant) -> ConnectionEvent.Kind? {
        if !self.isHigh, depth * 5 >= limit * 4, limit > 1 {
            self.isHigh = true
            return .queueNearlyFull(depth: depth, limit: limit)
        }
        if self.isHigh, depth * 2 <= limit {
            self.isHigh = false
            return .queueHasRoom(depth: depth, limit: limit)
        }
        if let flush = self.flush, depth == 0 {
            (self.flush, self.level) = (nil, 0)
            return .queueFlushed(count: flush.count, time: flush.since.duration(to: now))
        }
        let level = depth < Self.floor ? 0 : Int.bitWidth - depth.leadingZeroBitCount
        guard level != self.level else { return nil }
        self.level = level
        return .queueChanged(depth: depth, limit: limit)
    }
}
