#if OUTBOX
/// Makes keys by which a server needs to remember one number for each ordering key: `producer.session.order.count`.
///
/// Of one file and opening, whose names cannot come again: the file's is random, and so is that of each opening, so
/// that a file restored from a backup never repeats a key. A transaction that fails leaves a gap in the count.
final class KeyCounter {
    private struct Order {
        let number: Int
        var count = 0
    }

    /// The number of ordering keys counted at a time; beyond it all are counted from 1 under new numbers.
    private static let limit = 10_000

    private let prefix: String
    private var orders: [String: Order] = [:]
    private var lastOrder = 0

    init(producer: String, session: String) { self.prefix = "\(producer).\(session)" }

    /// The next key of an account's ordering key.
    func next(account: String, orderingKey: String) -> String {
        if self.orders.count >= Self.limit { self.orders = [:] }
        let name = "\(account)\0\(orderingKey)"
        if self.orders[name] == nil { self.lastOrder += 1 }
        var order = self.orders[name] ?? Order(number: self.lastOrder)
        order.count += 1
        self.orders[name] = order
        return "\(self.prefix).\(order.number).\(order.count)"
    }
}
#endif
