internal import LinkspanRuntime

/// The connections of a manager by endpoint and identity, and how many hold each.
///
/// A value: ``SharedPool`` keeps it under its lock. It only looks at what is its own: transports of third
/// parties are asked outside, and what is removed is returned, so that the last reference to it goes outside,
/// too.
struct ConnectionPool: Sendable {
    /// The properties that tell connections apart: URL, endpoint and identity.
    struct Key: Sendable, Hashable {
        private let configuration: ConnectionConfiguration

        init(_ configuration: ConnectionConfiguration) { self.configuration = configuration }

        var url: ConnectionURL { self.configuration.url }
        var endpoint: String { self.configuration.endpoint }
        var identity: ConnectionIdentity { self.configuration.identity }

        static func == (left: Self, right: Self) -> Bool {
            left.url == right.url && left.endpoint == right.endpoint && left.identity == right.identity
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(self.url)
            hasher.combine(self.endpoint)
            hasher.combine(self.identity)
        }
    }

    /// The options of connections that agree on them, and those of their transports, as text.
    final class Terms: Sendable {
        /// Keeps alive what is compared by instance.
        let options: ConnectionOptions
        let described: [String: String]

        init(_ options: ConnectionOptions, _ described: [String: String]) {
            self.options = options
            self.described = described
        }
    }

    struct Entry: Sendable {
        let connection: PooledConnection
        /// Counts the entries, in the order in which they came.
        let number: UInt64
        var key: Key
        /// The key that it is about to have, while it moves: nobody can come to hold it meanwhile.
        var next: Key?
        var terms: Terms
        var holders = 0
        /// Whether it was only held so far: its holder opens it when all is ready for its messages.
        var isUnopened = true
        /// Since when nobody holds it.
        var idleSince: Moment?
        /// Has the keeper visit it while nobody holds it.
        var watch: IdleWatch?

        var options: ConnectionOptions { self.terms.options }
        var idleTimeout: Duration { self.terms.options.idleTimeout }
        /// The end of its idle timeout; nil while it is held.
        var idleEnd: Moment? { self.idleSince.map { $0 + self.idleTimeout } }
    }

    /// A connection that has left the pool or its source, and whose links may still be closing.
    struct Leaver: Sendable {
        let connection: PooledConnection
        let source: CredentialSource
        let since: Moment
        let store: (any DeliveryStore)?
    }

    /// The time that a leaver is kept for ``ConnectionManager/logOut(_:keepingDeliveries:within:)`` to wait for:
    /// transports close within this.
    static let memory = Duration.seconds(10)

    /// Path and foreground, as last heard, and what the keeper has yet to look for.
    var surroundings = KeeperSurroundings()
    /// The allowance of attempts of all connections.
    var attempts: AttemptBudget
    private var entries: [ObjectIdentifier: Entry] = [:]
    /// The entries that can be found; one whose place was taken while it moved cannot.
    private var index: [Key: ObjectIdentifier] = [:]
    /// The number of keys with credentials that the index has of a URL.
    private var authenticated: [ConnectionURL: Int] = [:]
    /// The terms of the latest connection, while there is one with these: most connections have the same.
    private weak var latestTerms: Terms?
    private var leavers: [Leaver] = []
    private var lastNumber: UInt64 = 0
    /// Whether the rules are asked at intervals.
    private var isKept = false

    init(attempts: AttemptBudget) { self.attempts = attempts }

    var count: Int { self.entries.count }

    /// All of them, in the order in which they came.
    var all: [Entry] { self.entries.values.sorted { $0.number < $1.number } }

    /// All of them, or the one of a connection.
    func entries(_ connection: ObjectIdentifier?) -> [Entry] {
        guard let connection else { return self.all }
        return self.entries[connection].map { [$0] } ?? []
    }

    func entry(of connection: PooledConnection) -> Entry? { self.entries[ObjectIdentifier(connection)] }

    func entry(for key: Key) -> Entry? { self.index[key].flatMap { self.entries[$0] } }

    /// Whether a connection to a URL shows its server who connects.
    func hasAuthenticated(_ url: ConnectionURL) -> Bool {
        self.authenticated[url] != nil
    }

    /// Makes a key lead to a connection, or to none.
    private mutating func lead(_ key: Key, to connection: ObjectIdentifier?) {
        let former = self.index[key]
        self.index[key] = connection
        guard !key.identity.isAnonymous, (former == nil) != (connection == nil) else { return }
        let count = (self.authenticated[key.url] ?? 0) + (connection == nil ? -1 : 1)
        self.authenticated[key.url] = count == 0 ? nil : count
    }

    /// Begins to ask the rules at intervals; false when they are asked already.
    mutating func beginKeeping() -> Bool {
        defer { self.isKept = true }
        return !self.isKept
    }

    /// Ends asking the rules at intervals when there is no connection; returns whether it has ended.
    mutating func endKeepingIfEmpty() -> Bool {
        if self.entries.isEmpty { self.isKept = false }
        return !self.isKept
    }
}

// MARK: - Holders

extension ConnectionPool {
    /// Holds the connection of a key, if there is one.
    ///
    /// - Returns: its entry as it was before; nil when there is none.
    /// - Throws: `conflictingOptions` when there is one with other options.
    mutating func occupy(_ key: Key, _ described: [String: String]) throws(LinkspanError) -> Entry? {
        guard let id = self.index[key], let former = self.entries[id] else { return nil }
        try Self.compare(former.terms.described, described, url: key.url)
        self.entries[id]?.holders += 1
        self.entries[id]?.idleSince = nil
        self.entries[id]?.watch = nil
        return former
    }

    /// Puts a connection into the pool that has one holder, unless there is one for its key.
    ///
    /// - Throws: `conflictingOptions` when its store serves another endpoint.
    mutating func add(
        _ connection: PooledConnection, _ key: Key, _ options: ConnectionOptions, _ described: [String: String]
    ) throws(LinkspanError) -> Bool {
        guard self.index[key] == nil else { return false }
        try self.checkStore(options.store, key)
        self.lastNumber += 1
        self.lead(key, to: ObjectIdentifier(connection))
        self.entries[ObjectIdentifier(connection)] = Entry(
            connection: connection, number: self.lastNumber, key: key, terms: self.terms(options, described), holders: 1
        )
        return true
    }

    /// The terms with this description, shared with the latest connection if it has the same.
    private mutating func terms(_ options: ConnectionOptions, _ described: [String: String]) -> Terms {
        if let latest = self.latestTerms, latest.described == described { return latest }
        let terms = Terms(options, described)
        self.latestTerms = terms
        return terms
    }

    /// Refuses a store whose deliveries of the account go to another endpoint.
    private func checkStore(_ store: (any DeliveryStore)?, _ key: Key) throws(LinkspanError) {
        guard let store else { return }
        let other = self.entries.values.first { entry in
            entry.holders > 0 && entry.terms.options.store === store
                && (entry.key.url, entry.key.endpoint) != (key.url, key.endpoint)
                && entry.key.identity.source.account == key.identity.source.account
        }
        guard let other else { return }
        throw LinkspanError(
            .conflictingOptions,
            "the connection to \(other.key.url) of the same account uses this store: give each its own")
    }

    /// Somebody opens a connection.
    mutating func open(_ connection: PooledConnection) {
        self.entries[ObjectIdentifier(connection)]?.isUnopened = false
    }

    /// One holder less.
    mutating func vacate(_ connection: PooledConnection, now: Moment) {
        guard var entry = self.entry(of: connection) else { return }
        entry.holders -= 1
        if entry.holders == 0 { entry.idleSince = now }
        self.entries[ObjectIdentifier(connection)] = entry
    }

    /// Keeps a connection's watch, unless somebody holds it.
    ///
    /// - Returns: the former watch, or this one, to be let go of outside the lock.
    mutating func keep(_ watch: IdleWatch, of connection: PooledConnection) -> IdleWatch? {
        let id = ObjectIdentifier(connection)
        guard let entry = self.entries[id], entry.holders == 0 else { return watch }
        self.entries[id]?.watch = watch
        return entry.watch
    }

    private static func compare(
        _ old: [String: String], _ new: [String: String], url: ConnectionURL
    ) throws(LinkspanError) {
        let names = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
        guard names.isEmpty else {
            let list = names.map { "\($0) (\(old[$0] ?? "unset"), wanted \(new[$0] ?? "unset"))" }
            throw LinkspanError(
                .conflictingOptions,
                "a connection to \(url) exists with other options: \(list.joined(separator: ", "))")
        }
    }
}

// MARK: - Ends

extension ConnectionPool {
    /// Forgets a connection, however many hold it.
    mutating func discard(_ connection: PooledConnection) -> Entry? {
        let id = ObjectIdentifier(connection)
        guard let entry = self.entries.removeValue(forKey: id) else { return nil }
        if self.index[entry.key] == id { self.lead(entry.key, to: nil) }
        return entry
    }

    /// Forgets a connection that is about to end, if nobody holds it.
    mutating func withdraw(_ connection: PooledConnection, now: Moment) -> Entry? {
        guard self.entry(of: connection)?.holders == 0, let entry = self.discard(connection) else { return nil }
        self.leavers.append(
            Leaver(
                connection: connection, source: entry.key.identity.source, since: now, store: entry.options.store))
        return entry
    }

    /// Forgets all connections of a source, those that move from it or to it included.
    ///
    /// - Returns: them, and those that have left before.
    mutating func removeAll(of source: CredentialSource) -> (entries: [Entry], leavers: [Leaver]) {
        let meant = self.all.filter { $0.key.identity.source == source || $0.next?.identity.source == source }
        let leavers = self.leavers.filter { $0.source == source }
        self.leavers.removeAll { $0.source == source }
        return (meant.compactMap { self.discard($0.connection) }, leavers)
    }

    /// Forgets all connections.
    mutating func removeAll() -> (entries: [Entry], leavers: [Leaver]) {
        defer { (self.entries, self.index, self.authenticated, self.leavers) = ([:], [:], [:], []) }
        return (self.all, self.leavers)
    }

    /// Drops connections that left long ago.
    mutating func forgetLeavers(now: Moment) -> [Leaver] {
        let gone = self.leavers.prefix { $0.since + Self.memory <= now }
        self.leavers.removeFirst(gone.count)
        return Array(gone)
    }
}

// MARK: - Changes

extension ConnectionPool {
    /// Records that a connection uses other options.
    ///
    /// - Returns: the former ones.
    mutating func adjust(
        _ connection: PooledConnection, _ options: ConnectionOptions, _ described: [String: String]
    ) -> Terms? {
        guard let former = self.entry(of: connection)?.terms else { return nil }
        self.entries[ObjectIdentifier(connection)]?.terms = Terms(
            options, former.described.merging(described) { $1 })
        return former
    }

    /// Begins a move: from now on nobody comes to hold the connection, under either key.
    ///
    /// - Returns: whether the connection is in the pool.
    /// - Throws: `conflictingOptions` when another connection has the new key; `wrongState` while another move is made.
    mutating func beginMove(_ connection: PooledConnection, to next: Key) throws(LinkspanError) -> Bool {
        let id = ObjectIdentifier(connection)
        guard let entry = self.entries[id] else { return false }
        guard entry.next == nil else {
            throw LinkspanError(.wrongState, "the connection to \(entry.key.url) is being moved already")
        }
        if let other = self.index[next], other != id {
            throw LinkspanError(.conflictingOptions, "there is a connection to \(next.url) already")
        }
        if self.index[entry.key] == id { self.lead(entry.key, to: nil) }
        self.entries[id]?.next = next
        return true
    }

    /// Ends a move.
    ///
    /// - Parameters:
    ///   - connection: what was moved.
    ///   - options: its new options, and their description; nil when the connection refused to move.
    ///   - now: the time.
    /// - Returns: the former entry; nil when the connection has left the pool meanwhile.
    mutating func endMove(
        _ connection: PooledConnection, _ options: (ConnectionOptions, described: [String: String])?,
        now: Moment
    ) -> Entry? {
        let id = ObjectIdentifier(connection)
        guard let former = self.entries[id], let next = former.next else { return nil }
        var entry = former
        entry.next = nil
        if let options {
            entry.key = next
            entry.terms = Terms(options.0, options.described)
            let source = former.key.identity.source
            if source != next.identity.source {
                self.leavers.append(
                    Leaver(connection: connection, source: source, since: now, store: former.options.store))
            }
        }
        self.entries[id] = entry
        // A holder that came meanwhile has a connection of its own.
        if self.index[entry.key] == nil { self.lead(entry.key, to: id) }
        return former
    }
}
