/// Deliveries by key: those that wait, the commands that wait for them to end, and how much of what the store had kept
/// is loaded.
struct DeliveryLedger {
    /// The progress of loading the kept deliveries.
    enum Backlog {
        /// Nothing is asked of the store.
        case closed
        /// The store has not opened the account yet.
        case opening
        /// Rows up to a number are loaded.
        case loading(after: UInt64, isAsked: Bool)
        /// There is no more.
        case complete
    }

    /// A delivery that waits.
    struct Delivery {
        var id: Command.ID
        var account: String?
        var orderingKey: String
    }

    /// Whether there is a store.
    let isStored: Bool
    /// The account that owns the connection's rows.
    var account: String?
    var backlog = Backlog.closed
    /// Counts the openings, so that an answer to a former one is recognised.
    private(set) var session: UInt64 = 0
    private var deliveries: [String: Delivery] = [:]
    private var followers: [String: [Command]] = [:]
    private(set) var followerCount = 0
    /// The deliveries that ended while rows were being loaded, and may be among them.
    private var endedMeanwhile: Set<String> = []

    init(isStored: Bool, account: String?) {
        self.isStored = isStored
        self.account = account
    }

    mutating func beginSession() -> UInt64 {
        self.session += 1
        self.backlog = .opening
        return self.session
    }

    /// Ends the session.
    ///
    /// - Returns: whether the store has to be told; one that has not opened the account is told when it has.
    mutating func endSession() -> Bool {
        defer {
            self.session += 1
            self.backlog = .closed
            self.endedMeanwhile = []
        }
        switch self.backlog {
        case .closed, .opening: return false
        case .loading, .complete: return true
        }
    }

    // MARK: Deliveries

    func delivery(_ key: String) -> Delivery? { self.deliveries[key] }

    mutating func add(_ id: Command.ID, key: String, orderingKey: String) {
        self.deliveries[key] = Delivery(id: id, account: self.account, orderingKey: orderingKey)
    }

    /// Forgets a delivery that has ended.
    ///
    /// - Returns: whose it was; nil when this command does not stand for the key.
    mutating func remove(_ id: Command.ID, key: String) -> (account: String?, followers: [Command])? {
        guard let delivery = self.deliveries[key], delivery.id == id else { return nil }
        self.deliveries[key] = nil
        if case .loading(_, isAsked: true) = self.backlog { self.endedMeanwhile.insert(key) }
        return (delivery.account, self.removeFollowers(key: key))
    }

    /// The store has given a delivery another key.
    mutating func rename(_ id: Command.ID, from former: String, to key: String) {
        guard former != key, self.deliveries[former]?.id == id else { return }
        self.deliveries[key] = self.deliveries.removeValue(forKey: former)
        if let commands = self.followers.removeValue(forKey: former) { self.followers[key, default: []] += commands }
    }

    /// Those of the rows just loaded that have not ended since they were asked for.
    mutating func waiting(of rows: [StoredDelivery]) -> [StoredDelivery] {
        defer { self.endedMeanwhile = [] }
        return rows.filter { $0.outcome == nil && !self.endedMeanwhile.contains($0.key) }
    }

    // MARK: Followers

    func followers(of key: String) -> [Command] { self.followers[key] ?? [] }

    mutating func follow(_ command: Command, key: String) {
        self.followers[key, default: []].append(command)
        self.followerCount += 1
    }

    mutating func removeFollowers(key: String) -> [Command] {
        let removed = self.followers.removeValue(forKey: key) ?? []
        self.followerCount -= removed.count
        return removed
    }

    mutating func removeFollowers(_ ids: Set<Command.ID>) -> [Command] {
        guard self.followerCount > 0 else { return [] }
        var removed: [Command] = []
        for (key, commands) in self.followers {
            let meant = commands.filter { ids.contains($0.id) }
            guard !meant.isEmpty else { continue }
            removed += meant
            let left = commands.filter { !ids.contains($0.id) }
            self.followers[key] = left.isEmpty ? nil : left
        }
        self.followerCount -= removed.count
        return removed
    }

    mutating func removeAllFollowers() -> [Command] {
        defer { (self.followers, self.followerCount) = ([:], 0) }
        return self.followers.values.flatMap { $0 }.sorted { $0.id < $1.id }
    }

    var followerIDs: [Command.ID] { self.followers.values.flatMap { $0.map(\.id) } }
}
