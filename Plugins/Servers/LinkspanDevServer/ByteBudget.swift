/// An object that buffers bytes for one client.
protocol ByteKeeper: AnyObject {
    /// The number of buffered bytes: incomplete input from the client, and output that waits to be sent to it.
    var keptBytes: Int { get }
    /// Drops the client.
    func drop()
}

/// A limit for the bytes that are kept for all clients together.
///
/// Each client is within limits of its own, which many of them multiply.
struct ByteBudget {
    private let limit: Int
    /// The keepers that had buffered bytes at their last count.
    private var keepers: [ObjectIdentifier: (keeper: any ByteKeeper, bytes: Int)] = [:]
    /// The sum of these counts.
    private var total = 0

    init(limit: Int) { self.limit = limit }

    /// Updates the count of a keeper.
    ///
    /// - Returns: the keeper with the most bytes, to be dropped, when the sum exceeds the limit; otherwise nil.
    mutating func count(_ keeper: any ByteKeeper) -> (any ByteKeeper)? {
        self.note(keeper)
        guard self.total > self.limit else { return nil }
        // A keeper whose output has been sent since its last count still has the old count.
        for (keeper, _) in self.keepers.values { self.note(keeper) }
        guard self.total > self.limit, let largest = self.keepers.values.max(by: { $0.bytes < $1.bytes }) else {
            return nil
        }
        self.remove(largest.keeper)
        return largest.keeper
    }

    /// Forgets a keeper that has ended.
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
