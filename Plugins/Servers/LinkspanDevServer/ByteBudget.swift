/// An object that buffers bytes for one client.
protocol BufferOwner: AnyObject {
    /// The number of buffered bytes: incomplete input from the client, and output that waits to be sent to it.
    var bufferedBytes: Int { get }
    /// Drops the client.
    func drop()
}

/// A limit for the bytes buffered for all clients together.
///
/// Each client is within limits of its own, which many of them multiply.
struct ByteBudget {
    private let limit: Int
    /// The owners that had buffered bytes at their last count.
    private var owners: [ObjectIdentifier: (owner: any BufferOwner, bytes: Int)] = [:]
    /// The sum of these counts.
    private var total = 0

    init(limit: Int) { self.limit = limit }

    /// Updates the count of an owner.
    ///
    /// - Returns: the owner with the most bytes, to be dropped, when the sum exceeds the limit; otherwise nil.
    mutating func count(_ owner: any BufferOwner) -> (any BufferOwner)? {
        self.note(owner)
        guard self.total > self.limit else { return nil }
        // An owner whose output has been sent since its last count still has the old count.
        for (owner, _) in self.owners.values { self.note(owner) }
        guard self.total > self.limit, let largest = self.owners.values.max(by: { $0.bytes < $1.bytes }) else {
            return nil
        }
        self.remove(largest.owner)
        return largest.owner
    }

    /// Forgets an owner that has ended.
    mutating func remove(_ owner: any BufferOwner) {
        self.total -= self.owners.removeValue(forKey: ObjectIdentifier(owner))?.bytes ?? 0
    }

    private mutating func note(_ owner: any BufferOwner) {
        self.remove(owner)
        let bytes = owner.bufferedBytes
        guard bytes > 0 else { return }
        self.owners[ObjectIdentifier(owner)] = (owner, bytes)
        self.total += bytes
    }
}
