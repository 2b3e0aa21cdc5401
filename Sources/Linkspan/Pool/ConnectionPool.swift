/// The connections of a manager by URL, and who holds them.
///
/// A value: ``ConnectionManager`` keeps it under its lock.
struct ConnectionPool: Sendable {
    struct Entry: Sendable {
        let connection: any Connection
        var described: [String: String]
        var linger: Duration
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
        guard let url = self.url(of: connection), var entry = self.entries[url] else { return }
        entry.holders -= 1
        if entry.holders == 0 { entry.idleSince = now }
        self.entries[url] = entry
    }

    /// Forgets a connection, if nobody holds it.
    mutating func remove(_ connection: any Connection) -> Bool {
        guard let url = self.url(of: connection), self.entries[url]?.holders == 0 else { return false }
        self.entries[url] = nil
        return true
    }

    /// The connection for a URL, unless it is finished.
    func connection(of url: ConnectionURL) -> (any Connection)? {
        self.entries[url].flatMap { $0.connection.state == .released ? nil : $0.connection }
    }

    func entry(of connection: any Connection) -> Entry? { self.url(of: connection).flatMap { self.entries[$0] } }

    /// Under which URL a connection is kept; for a moment, one that moves is elsewhere than it says.
    private func url(of connection: any Connection) -> ConnectionURL? {
        let url = connection.url
        if self.entries[url]?.connection === connection { return url }
        return self.entries.first { $0.value.connection === connection }?.key
    }

    /// Notes that a connection goes by other options.
    mutating func adjust(_ connection: any Connection, _ options: ConnectionOptions) {
        guard let url = self.url(of: connection), var entry = self.entries[url] else { return }
        entry.described.merge(options.described) { $1 }
        entry.linger = options.linger
        self.entries[url] = entry
    }

    /// Keeps the connection of a URL under another one.
    ///
    /// - Returns: the connection and its former entry; nil when there is none.
    /// - Throws: `conflictingOptions` when there is another connection already.
    mutating func move(
        _ url: ConnectionURL, to configuration: ConnectionConfiguration
    ) throws(LinkspanError) -> (connection: any Connection, former: Entry)? {
        guard let former = self.entries[url], former.connection.state != .released else { return nil }
        if let other = self.connection(of: configuration.url), other !== former.connection {
            throw LinkspanError(
                .conflictingOptions, "there is a connection to \(configuration.url.redacted) already")
        }
        var entry = former
        entry.described = configuration.described
        entry.linger = configuration.options.linger
        self.entries[url] = nil
        self.entries[configuration.url] = entry
        return (former.connection, former)
    }

    /// Takes a move back that the connection refused.
    mutating func moveBack(_ connection: any Connection, to url: ConnectionURL, _ former: Entry) {
        guard let refused = self.url(of: connection), var entry = self.entries[refused] else { return }
        entry.described = former.described
        entry.linger = former.linger
        self.entries[refused] = nil
        self.entries[url] = entry
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
