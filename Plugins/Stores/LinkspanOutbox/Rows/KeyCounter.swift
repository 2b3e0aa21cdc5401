#if Outbox
/// Makes keys by which a server needs to remember one number for each ordering key: `producer.session.order.count`.
///
/// Of one file and opening, whose names cannot come again: the file's is random, and so is that of each opening, so
/// that a file restored from a backup counts anew. What is counted for a transaction that fails is left out.
final class KeyCounter {
    private struct Lane {
        let number: Int
        var count = 0
    }

    /// The number of ordering keys counted at a time; beyond it all begin anew under other numbers.
    private static let limit = 10_000

    private let prefix: String
    private var lanes: [String: Lane] = [:]
    private var lastLane = 0

    init(producer: String, session: String) { self.prefix = "\(producer).\(session)" }

    /// The next key of an account's ordering key.
    func next(account: String, orderingKey: String) -> String {
        if self.lanes.count >= Self.limit { self.lanes = [:] }
        let name = "\(account)\0\(orderingKey)"
        var lane = self.lanes[name] ?? self.begin()
        lane.count += 1
        self.lanes[name] = lane
        return "\(self.prefix).\(lane.number).\(lane.count)"
    }

    private func begin() -> Lane {
        self.lastLane += 1
        return Lane(number: self.lastLane)
    }
}
#endif
