internal import LinkspanRuntime

extension ConnectionManager {
    static let loggedOut = LinkspanError(.loggedOut, "the credential source was logged out")

    /// Ends everything that was made with a credential source, and returns when its links are closed.
    ///
    /// Call it when a user signs out. It is never refused, even while connections are held: all connections of the
    /// source leave the pool and are released, their holders see the state `released`. What waits or is under way fails
    /// with code `loggedOut`, deliveries included. Their sessions cannot be resumed, and what the source's provider has
    /// answered is not used any more. Connections of other sources are not touched.
    ///
    /// All that their ``DeliveryStore`` keeps for the account is erased, unless it is to be kept for the user's return:
    /// then the next connection of the account sends it. The manager knows the stores of connections in the pool and of
    /// those that have just left; for others there is ``DeliveryStore/erase(account:)``.
    ///
    /// A connection that is made with the same source afterwards asks the provider again.
    ///
    /// ```swift
    /// await manager.logOut(plan.credentials)
    /// ```
    ///
    /// - Parameters:
    ///   - source: the source whose connections end.
    ///   - keepingDeliveries: whether stored deliveries and outcomes of the account stay.
    ///   - limit: the longest wait for the servers and the stores. All other steps are complete by then.
    public func logOut(
        _ source: CredentialSource, keepingDeliveries: Bool = false, within limit: Duration = .seconds(5)
    ) async {
        let deadline = self.options.scheduler.now + limit
        // Before the connections leave the pool, so that one that is made meanwhile belongs to the next login or leaves too.
        let failWaiters = source.forget()
        let (entries, leavers) = self.pool.withLock { $0.removeAll(of: source) }
        for entry in entries {
            entry.connection.end(Self.loggedOut)
        }
        // After their ends, so that none gets a failed attempt first.
        failWaiters()
        await Self.settle(entries.map(\.connection) + leavers.map(\.connection), within: limit)
        var stores: [ObjectIdentifier: any DeliveryStore] = [:]
        for store in entries.map(\.options.store) + leavers.map(\.store) {
            if let store { stores[ObjectIdentifier(store)] = store }
        }
        for store in stores.values {
            await self.forget(source.account, in: store, keepingDeliveries: keepingDeliveries, until: deadline)
        }
    }

    private func forget(
        _ account: String?, in store: any DeliveryStore, keepingDeliveries: Bool,
        until deadline: ContinuousClock.Instant
    ) async {
        let forgotten = Promise<Void>()
        store.executor.execute {
            guard keepingDeliveries else { return store.erase(account: account) { forgotten.fulfill() } }
            // A connection that left when nobody held it any more has let its session stand.
            store.keep(StoredSession(resumption: nil), account: account)
            forgotten.fulfill()
        }
        await forgotten.wait(until: deadline, by: self.options.scheduler)
    }
}
