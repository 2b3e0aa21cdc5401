/// The messages that were received last, to recognise repeated ones.
struct RecentLines: Sendable {
    private struct Key: Hashable, Sendable {
        var from: String
        var id: String
    }

    private static let capacity = 10_000

    private var known: Set<Key> = []
    private var order: [Key] = []
    private var oldest = 0

    mutating func isNew(_ id: String, from name: String) -> Bool {
        let key = Key(from: name, id: id)
        guard self.known.insert(key).inserted else { return false }
        if self.order.count < Self.capacity {
            self.order.append(key)
        } else {
            self.known.remove(self.order[self.oldest])
            self.order[self.oldest] = key
            self.oldest = (self.oldest + 1) % Self.capacity
        }
        return true
    }
}
