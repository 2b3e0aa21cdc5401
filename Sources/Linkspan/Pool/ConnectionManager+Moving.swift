internal import LinkspanRuntime

extension ConnectionManager {
    /// Has the pooled connection of a URL go by other options from now on, without touching its link.
    ///
    /// What waits already keeps its place and its deadlines, whatever the new limits are.
    ///
    /// - Parameters:
    ///   - url: whose connection is meant.
    ///   - options: all options; those that were not meant to change have to be given, too.
    /// - Returns: whether there is such a connection.
    /// - Throws: ``LinkspanError`` with code `invalidConfiguration`, or `conflictingOptions` for what a connection keeps for
    ///   life: its greeting, its store and the place of its deliveries' keys.
    @discardableResult
    public func adjust(_ url: ConnectionURL, _ options: ConnectionOptions) throws(LinkspanError) -> Bool {
        guard let connection = self.pool.withLock({ $0.connection(of: url) }) else { return false }
        try connection.adjust(options)
        self.pool.withLock { $0.adjust(connection, options) }
        return true
    }

    /// Has the pooled connection of a URL lead somewhere else: to another URL, over another transport, with other
    /// credentials or options.
    ///
    /// Its holders, listeners and all that waits go with it. It leaves its link politely and makes a first attempt at the
    /// new place at once; requests under way fail as with any lost link, deliveries are repeated. A connection that is down
    /// on purpose stays so.
    ///
    /// - Parameters:
    ///   - url: whose connection is meant.
    ///   - configuration: where it leads from now on.
    /// - Returns: whether there is such a connection.
    /// - Throws: ``LinkspanError`` with code `conflictingOptions` when the pool has another connection to the new URL, or for
    ///   what a connection keeps for life; nothing has changed then.
    @discardableResult
    public func move(
        _ url: ConnectionURL, to configuration: ConnectionConfiguration
    ) throws(LinkspanError) -> Bool {
        let moved = try self.pool.withLock { pool throws(LinkspanError) in try pool.move(url, to: configuration) }
        guard let (connection, former) = moved else { return false }
        do throws(LinkspanError) {
            try connection.move(to: configuration)
        } catch {
            self.pool.withLock { $0.moveBack(connection, to: url, former) }
            throw error
        }
        return true
    }
}
