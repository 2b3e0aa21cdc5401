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
    private struct Delivery {
        var id: Command.ID
        /// Its place among the accounts.
        var account: UInt32
    }

    /// Whether there is a store.
    let isStored: Bool
    /// The account that owns the connection's rows.
    var account: String?
    var backlog = Backlog.closed
    /// Counts the openings, so that an answer to a former one is recognised.
    private(set) var session: UInt64 = 0
    private var deliveries: [String: Delivery] = [:]
    /// The accounts that deliveries have belonged to.
    private var accounts: [String?] = []
    private var followers: [String: [Command]] = [:]
    /// The key that each of them follows.
    private var followed: [Command.ID: String] = [:]
    var followerCount: Int { self.followed.count }
    /// The deliveries that ended while rows were being loaded, and may be among them.
    private var endedMeanwhile: Set<String> = []
    /// Outcomes reported to the store under generated keys before it had committed the deliveries.
    private var endedUnkept: [Command.ID: Result<Payload, LinkspanError>] = [:]

    init(isStored: Bool) { self.isStored = isStored }

    /// Begins a session, behind the end of the former one.
    mutating func beginSession() -> UInt64 {
        self.backlog = .opening
        return self.session
    }

    /// Ends the session.
    ///
    /// - Returns: whether to notify the store; one that has not opened the account is notified when it has.
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

    /// The delivery with a key.
    func delivery(_ key: String) -> Command.ID? { self.deliveries[key]?.id }

    /// The account of the delivery with a key; nil when there is none.
    func account(of key: String) -> String?? { self.deliveries[key].map { self.accounts[Int($0.account)] } }

    mutating func add(_ id: Command.ID, key: String) {
        if self.deliveries.isEmpty { self.accounts = [] }
        let account = self.accounts.firstIndex(of: self.account) ?? self.accounts.count
        if account == self.accounts.count { self.accounts.append(self.account) }
        self.deliveries[key] = Delivery(id: id, account: UInt32(account))
    }

    /// Forgets a delivery that has ended.
    ///
    /// - Returns: whose it was; nil when this command does not stand for the key.
    mutating func remove(_ id: Command.ID, key: String) -> (account: String?, followers: [Command])? {
        guard self.delivery(key) == id, let delivery = self.deliveries.removeValue(forKey: key) else { return nil }
        self.deliveries.trim()
        if case .loading(_, isAsked: true) = self.backlog { self.endedMeanwhile.insert(key) }
        return (self.accounts[Int(delivery.account)], self.removeFollowers(key: key))
    }

    /// A delivery has ended before the store has answered whether it keeps it, perhaps under another key.
    mutating func noteEnd(ofUnkept id: Command.ID, _ outcome: Result<Payload, LinkspanError>) {
        self.endedUnkept[id] = outcome
    }

    /// The outcome that a delivery had before the store has answered whether it keeps it.
    mutating func takeEnd(ofUnkept id: Command.ID) -> Result<Payload, LinkspanError>? {
        self.endedUnkept.isEmpty ? nil : self.endedUnkept.removeValue(forKey: id)
    }

    /// The store has given a delivery another key.
    mutating func rename(_ id: Command.ID, from former: String, to key: String) {
        guard former != key, self.delivery(former) == id else { return }
        self.deliveries[key] = self.deliveries.removeValue(forKey: former)
        guard let commands = self.followers.removeValue(forKey: former) else { return }
        self.followers[key, default: []] += commands
        for command in commands { self.followed[command.id] = key }
    }

    /// Those of the rows just loaded that have not ended since they were asked for.
    mutating func waiting(of rows: [StoredDelivery]) -> [StoredDelivery] {
        defer { self.endedMeanwhile = [] }
        return rows.filter { $0.outcome == nil && !self.endedMeanwhile.contains($0.key) }
    }

    // MARK: Followers

    func followers(of key: String) -> [Command] { self.followers[key] ?? [] }

    /// Makes a command end as the delivery with a key does.
    ///
    /// It is never sent itself, so that its payload is let go of: followers are bounded by their number alone.
    mutating func follow(_ command: Command, key: String) {
        var command = command
        command.payload = .empty
        self.followed[command.id] = key
        self.followers[key, default: []].append(command)
    }

    mutating func removeFollowers(key: String) -> [Command] {
        guard !self.followers.isEmpty else { return [] }
        let removed = self.followers.removeValue(forKey: key) ?? []
        for command in removed { self.followed[command.id] = nil }
        return removed
    }

    /// Takes a follower out.
    mutating func removeFollower(_ id: Command.ID) -> Command? {
        guard !self.followed.isEmpty, let key = self.followed.removeValue(forKey: id),
            var commands = self.followers.removeValue(forKey: key),
            let index = commands.firstIndex(where: { $0.id == id })
        else { return nil }
        let removed = commands.remove(at: index)
        if !commands.isEmpty { self.followers[key] = commands }
        return removed
    }

    mutating func removeAllFollowers() -> [Command] {
        defer { (self.followers, self.followed) = ([:], [:]) }
        return self.followers.values.flatMap { $0 }.sorted { $0.id < $1.id }
    }

    func isFollower(_ id: Command.ID) -> Bool { self.followed[id] != nil }
}
