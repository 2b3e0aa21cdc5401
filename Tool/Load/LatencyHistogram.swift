/// Counts times in buckets that are at most 0.8 % wide, as an HDR histogram does.
///
/// Coordinated omission is corrected at the source: a time counts from when a message was due by its rate, not from when
/// it left.
struct LatencyHistogram: Sendable {
    /// 128 buckets for each power of two.
    private static let bits = 7

    private var buckets: [UInt32] = []
    private var sum = 0.0
    private(set) var count = 0
    private(set) var longest = Duration.zero

    /// Counts a time; a negative one counts as none.
    mutating func record(_ time: Duration) {
        let value = UInt64(max(0, time.nanoseconds))
        let shift = max(0, UInt64.bitWidth - value.leadingZeroBitCount - Self.bits - 1)
        let bucket = shift << Self.bits + Int(value >> shift)
        if bucket >= self.buckets.count {
            self.buckets += repeatElement(0, count: bucket + 1 - self.buckets.count)
        }
        self.buckets[bucket] += 1
        self.count += 1
        self.sum += Double(value)
        self.longest = max(self.longest, time)
    }

    /// The time that a share of the counted ones do not exceed, at most 0.8 % too long; zero without any.
    func quantile(_ share: Double) -> Duration {
        let rank = max(1, Int((Double(self.count) * share).rounded(.up)))
        var seen = 0
        for (bucket, count) in self.buckets.enumerated() {
            seen += Int(count)
            if seen >= rank { return min(self.longest, Self.end(of: bucket)) }
        }
        return self.longest
    }

    /// The mean; zero without any.
    var mean: Duration { self.count == 0 ? .zero : .nanoseconds(Int64(self.sum / Double(self.count))) }

    private static func end(of bucket: Int) -> Duration {
        let shift = max(0, bucket >> Self.bits - 1)
        return .nanoseconds(Int64((bucket - shift << Self.bits + 1) << shift - 1))
    }
}

extension Duration {
    /// The time in whole nanoseconds.
    var nanoseconds: Int64 { self.components.seconds * 1_000_000_000 + self.components.attoseconds / 1_000_000_000 }
    /// The time in milliseconds.
    var fractionalMilliseconds: Double { Double(self.nanoseconds) / 1e6 }
}
