internal import LinkspanRuntime

extension ConnectionManager {
    /// Ends everything that was made with a credential source, and returns when its links are closed.
    ///
    /// For the moment when a user signs out. It is never refused, and does not ask who holds what: all connections of
    /// the source leave the pool and are released, their holders see the state `released`. What waits or is under way
    /// fails with code `loggedOut`, deliveries included, which a ``DeliveryStore`` is told to forget. Their sessions
    /// cannot be resumed, and what the source's provider has answered is not used any more. Connections of other
    /// sources are not touched.
    ///
    /// A connection that is made with the same source afterwards begins anew, and asks the provider again.
    ///
    /// ```swift
    /// await manager.logOut(plan.credentials)
    /// ```
    ///
    /// - Parameters:
    ///   - source: whose connections are meant.
    ///   - limit: how long to wait for the servers to be told. Everything else has happened by then all the same.
    public func logOut(_ source: CredentialSource, within limit: Duration = .seconds(5)) async {
        let (entries, leavers) = self.pool.withLock { $0.removeAll(of: source) }
        for entry in entries {
            entry.connection.end(LinkspanError(.loggedOut, "the credential source was logged out"))
        }
        // Behind the connections, which would ask it again.
        source.forget()
        await Self.settle(entries.map(\.connection) + leavers.map(\.connection), within: limit)
    }
}
