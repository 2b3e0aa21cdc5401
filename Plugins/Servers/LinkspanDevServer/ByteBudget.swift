/// Something that keeps bytes for a client.
protocol ByteKeeper: AnyObject {
    /// The bytes that are kept: of what came in part, and of what waits to be sent.
    var keptBytes: Int { get }
    /// Drops the client.
    func drop()
}

/// A limit for the bytes that are kept for all clients together.
///
/// Each client is within limits of its own, which many of them multiply.
struct ByteBudget {
    private let limit: Int
    /// Those for whom something was kept when they were counted last.
    private var keepers: [ObjectIdentifier: (keeper: any ByteKeeper, bytes: Int)] = [:]
    /// The sum of what was counted.
    private var total = 0

    init(limit: Int) { self.limit = limit }

    /// Counts what is kept for a client.
    ///
    /// - Returns: the client for whom the most is kept, which is to be dropped; nil as long as all is within the limit.
    mutating func count(_ keeper: any ByteKeeper) -> (any ByteKeeper)? {
        self.note(keeper)
        guard self.total > self.limit else { return nil }
        // What was sent since then is still in the sum.
        for (keeper, _) in self.keepers.values { self.note(keeper) }
        guard self.total > self.limit, let largest = self.keepers.values.max(by: { $0.bytes < $1.bytes }) else {
            return nil
        }
        self.remove(largest.keeper)
        return largest.keeper
    }

    /// Nothing is kept for a client any more.
    mutating func remove(_ keeper: any ByteKeeper) {
        self.total -= self.keepers.removeValue(forKey: ObjectIdentifier(keeper))?.bytes ?? 0
    }

    private mutating func note(_ keeper: any ByteKeeper) {
        self.remove(keeper)
        let bytes = keeper.keptBytes
        guard bytes > 0 else { return }
        self.keepers[ObjectIdentifier(keeper)] = (keeper, bytes)
        self.total += bytes
    }
}
