internal import LinkspanRuntime

extension ConnectionManager {
    /// Changes the options of the connection that was made by a configuration, without touching its link.
    ///
    /// Waiting commands keep their places and deadlines under the new limits.
    ///
    /// - Parameters:
    ///   - configuration: the configuration by which the connection was made.
    ///   - options: all options; those that were not meant to change have to be given, too.
    /// - Returns: whether there is such a connection in this manager's pool.
    /// - Throws: ``LinkspanError`` with code `invalidConfiguration`, or
    ///   `conflictingOptions` for options that cannot change while the connection exists: its greeting, its store and
    ///   the place of its deliveries' keys.
    @discardableResult
    package func adjust(
        _ configuration: ConnectionConfiguration, _ options: ConnectionOptions
    ) throws(LinkspanError) -> Bool {
        guard let connection = self.connection(of: configuration) else { return false }
        return try self.adjust(connection, options)
    }

    func adjust(_ connection: PooledConnection, _ options: ConnectionOptions) throws(LinkspanError) -> Bool {
        guard self.pool.withLock({ $0.entry(of: connection) }) != nil else { return false }
        try connection.adjust(options)
        let described = options.described
        _ = self.pool.withLock { $0.adjust(connection, options, described) }
        self.watch(connection)
        return true
    }

    /// Moves a pooled connection to another endpoint: another URL, transport, credential source or other options.
    ///
    /// Its holders and listeners go with it, and so does all that waits, unless it moves to another identity, which is
    /// another credential source, client certificate, proxy login or headers: what was sent as one user never reaches
    /// the server as another, so commands without an outcome fail with code `moved` then, and messages that no listener
    /// has taken yet are dropped. It leaves its link politely and makes a first attempt at the new place at once; requests under way
    /// fail as with any lost link, deliveries are repeated. Nothing that was learned at the former place goes along, no
    /// session is resumed. A connection that is down on purpose stays so.
    ///
    /// - Parameters:
    ///   - held: a handler of the connection.
    ///   - configuration: where it leads from now on.
    /// - Returns: whether the connection is in this manager's pool.
    /// - Throws: ``LinkspanError`` with code `released` when the handler was released, `conflictingOptions` when the
    ///   pool has another connection to the new URL with the same identity, or for an option that cannot change, and
    ///   `wrongState` while it is being moved; nothing has changed then.
    @discardableResult
    public func move(
        _ held: ConnectionHandler, to configuration: ConnectionConfiguration
    ) throws(LinkspanError) -> Bool {
        try held.checkHeld()
        return try self.move(held.connection, to: configuration)
    }

    /// Moves the connection that was made by a configuration; see ``move(_:to:)``.
    @discardableResult
    package func move(
        _ former: ConnectionConfiguration, to configuration: ConnectionConfiguration
    ) throws(LinkspanError) -> Bool {
        guard let connection = self.connection(of: former) else { return false }
        return try self.move(connection, to: configuration)
    }

    private func move(
        _ connection: PooledConnection, to configuration: ConnectionConfiguration
    ) throws(LinkspanError) -> Bool {
        let (next, described) = (ConnectionPool.Key(configuration), configuration.described)
        let other = self.pool.withLock { $0.entry(for: next) }?.connection
        if let other, other !== connection, other.state == .released { _ = self.pool.withLock { $0.discard(other) } }
        let isPooled = try self.pool.withLock { pool throws(LinkspanError) in
            try pool.beginMove(connection, to: next)
        }
        guard isPooled else { return false }
        do throws(LinkspanError) {
            try connection.move(to: configuration)
        } catch {
            let now = self.now
            _ = self.pool.withLock { $0.endMove(connection, nil, now: now) }
            throw error
        }
        let now = self.now
        let former = self.pool.withLock { $0.endMove(connection, (configuration.options, described), now: now) }
        self.watch(connection)
        if let former, former.key.identity.source != next.identity.source { self.forgetLeaver() }
        return true
    }

    /// The connection of a URL and an identity, unless it is finished.
    private func connection(of configuration: ConnectionConfiguration) -> PooledConnection? {
        let key = ConnectionPool.Key(configuration)
        let connection = self.pool.withLock { $0.entry(for: key) }?.connection
        return connection.flatMap { $0.state == .released ? nil : $0 }
    }
}
