/// The connections of a manager by URL, and who holds them.
///
/// A value: ``ConnectionManager`` keeps it under its lock.
struct ConnectionPool: Sendable {
    struct Entry: Sendable {
        let connection: any Connection
        let described: [String: String]
        let linger: Duration
        var holders = 0
        /// Since when nobody holds it.
        var idleSince: ContinuousClock.Instant?
    }

    private(set) var entries: [ConnectionURL: Entry] = [:]
    /// Whether someone looks at the pool every now and then.
    private(set) var isKept = false

    /// Says that someone will look at the pool; false when someone does already.
    mutating func beginKeeping() -> Bool {
        defer { self.isKept = true }
        return !self.isKept
    }

    /// Whether looking at the pool may end, because nothing is in it.
    mutating func endKeepingIfEmpty() -> Bool {
        if self.entries.isEmpty { self.isKept = false }
        return !self.isKept
    }

    /// Forgets all connections.
    mutating func removeAll() -> [any Connection] {
        defer { self.entries = [:] }
        return self.entries.values.map(\.connection)
    }

    /// Takes the connection for a URL.
    ///
    /// - Parameters:
    ///   - configuration: whose URL, and what the connection must be like.
    ///   - new: what is put into the pool when there is none yet.
    /// - Returns: the connection, and whether it has to be connected: it is new, or went down while nobody held it. Nil when
    ///   there is none and no new one.
    /// - Throws: `conflictingOptions` when there is one with other options.
    mutating func occupy(
        _ configuration: ConnectionConfiguration, orAdd new: (any Connection)? = nil
    ) throws(LinkspanError) -> (connection: any Connection, mustConnect: Bool)? {
        let described = configuration.described
        var entry: Entry
        var mustConnect = false
        if let found = self.entries[configuration.url], found.connection.state != .released {
            try Self.compare(found.described, described, url: configuration.url)
            entry = found
            mustConnect = found.holders == 0 && found.connection.state == .disconnected
        } else if let new {
            mustConnect = true
            entry = Entry(connection: new, described: described, linger: configuration.options.linger)
        } else {
            return nil
        }
        entry.holders += 1
        entry.idleSince = nil
        self.entries[configuration.url] = entry
        return (entry.connection, mustConnect)
    }

    /// One holder less.
    mutating func vacate(_ connection: any Connection, now: ContinuousClock.Instant) {
        guard var entry = self.entries[connection.url], entry.connection === connection else { return }
        entry.holders -= 1
        if entry.holders == 0 { entry.idleSince = now }
        self.entries[connection.url] = entry
    }

    /// Forgets a connection, if nobody holds it.
    mutating func remove(_ connection: any Connection) -> Bool {
        guard let entry = self.entries[connection.url], entry.connection === connection, entry.holders == 0 else {
            return false
        }
        self.entries[connection.url] = nil
        return true
    }

    private static func compare(
        _ old: [String: String], _ new: [String: String], url: ConnectionURL
    ) throws(LinkspanError) {
        let names = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
        guard names.isEmpty else {
            let list = names.map { "\($0) (\(old[$0] ?? "unset"), wanted \(new[$0] ?? "unset"))" }
            throw LinkspanError(
                .conflictingOptions,
                "a connection to \(url.redacted) exists with other options: \(list.joined(separator: ", "))")
        }
    }
}
