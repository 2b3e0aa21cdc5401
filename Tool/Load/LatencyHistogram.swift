import Foundation

/// Counts times in buckets that are at most 0.8 % wide, as an HDR histogram does.
///
/// Coordinated omission is corrected at the source: a time counts from when a message was due by its rate, not from when
/// it left.
struct LatencyHistogram: Sendable {
    /// 128 buckets for each power of two.
    private static let bits = 7

    private var buckets: [UInt32] = []
    private var sum: Int64 = 0
    private(set) var count = 0
    private(set) var longest: Int64 = 0

    /// Counts a time in nanoseconds; a negative one counts as none.
    mutating func record(_ time: Int64) {
        let value = UInt64(max(0, time))
        let shift = max(0, UInt64.bitWidth - value.leadingZeroBitCount - Self.bits - 1)
        let bucket = shift << Self.bits + Int(value >> shift)
        if bucket >= self.buckets.count {
            self.buckets += repeatElement(0, count: bucket + 1 - self.buckets.count)
        }
        self.buckets[bucket] += 1
        self.count += 1
        self.sum &+= Int64(value)
        self.longest = max(self.longest, time)
    }

    static func + (left: Self, right: Self) -> Self {
        guard left.buckets.count >= right.buckets.count else { return right + left }
        var all = left
        for (bucket, count) in right.buckets.enumerated() { all.buckets[bucket] += count }
        all.count += right.count
        all.sum &+= right.sum
        all.longest = max(left.longest, right.longest)
        return all
    }

    /// The nanoseconds that a share of the counted times do not exceed, at most 0.8 % too many; zero without any.
    func quantile(_ share: Double) -> Int64 {
        let rank = max(1, Int((Double(self.count) * share).rounded(.up)))
        var seen = 0
        for (bucket, count) in self.buckets.enumerated() {
            seen += Int(count)
            if seen >= rank { return min(self.longest, Self.end(of: bucket)) }
        }
        return self.longest
    }

    /// The mean in nanoseconds; zero without any.
    var mean: Int64 { self.count == 0 ? 0 : self.sum / Int64(self.count) }

    private static func end(of bucket: Int) -> Int64 {
        let shift = max(0, bucket >> Self.bits - 1)
        return Int64((bucket - shift << Self.bits + 1) << shift - 1)
    }
}

extension Int64 {
    /// Nanoseconds in milliseconds.
    var milliseconds: Double { Double(self) / 1e6 }
    /// The nanoseconds of a clock that only goes forward: a `Duration` has 128 bits, which each message would divide.
    static var now: Self {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Self(time.tv_sec) * 1_000_000_000 + Self(time.tv_nsec)
    }
}
