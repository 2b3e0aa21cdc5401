#if OUTBOX
internal import Linkspan
internal import LinkspanRuntime

/// Listing, retrying and erasing rows: for support engineers, and for screens of the app that show waiting deliveries.
extension Outbox {
    /// Rows of all accounts, those that wait and those with outcomes, in the order in which they were kept.
    ///
    /// - Parameters:
    ///   - number: the rows wanted have higher numbers.
    ///   - limit: how many at most.
    /// - Returns: the rows.
    /// - Throws: ``OutboxError``.
    public func entries(after number: UInt64 = 0, limit: Int = 1_000) async throws(OutboxError) -> [OutboxEntry] {
        try await self.ask { try $0.entries(after: number, limit: limit) }
    }

    /// The rows of a file, also while another process has it open; nothing is changed.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - number: the rows wanted have higher numbers.
    ///   - limit: how many at most.
    ///   - cipher: the cipher that sealed the payloads.
    /// - Returns: the rows, in the order in which they were kept.
    /// - Throws: ``OutboxError``.
    public static func entries(
        at path: String, after number: UInt64 = 0, limit: Int = 1_000, cipher: (any OutboxCipher)? = nil
    ) throws(OutboxError) -> [OutboxEntry] {
        try DatabaseOpener.read(path, cipher: cipher) { try $0.entries(after: number, limit: limit) }
    }

    /// Queues a failed delivery again, in its former place; its time limit starts again.
    ///
    /// It is sent when its account is opened the next time.
    ///
    /// - Parameters:
    ///   - key: the key of the delivery.
    ///   - account: its account.
    /// - Returns: whether there was one.
    /// - Throws: ``OutboxError``.
    @discardableResult
    public func retry(key: String, account: String? = nil) async throws(OutboxError) -> Bool {
        let isThere = try await self.ask { try $0.retry(key: key, account: account) }
        if isThere { self.executor.execute { self.engine.meters.retried(1) } }
        return isThere
    }

    /// Rewrites all payloads and replies with the present cipher, or without one: after a change of its key, or when
    /// it was switched on or off.
    ///
    /// - Throws: ``OutboxError``.
    public func reseal() async throws(OutboxError) {
        var last: UInt64? = 0
        while let number = last {
            last = try await self.ask { try $0.reseal(after: number, limit: 100) }
        }
        var lastReceived: Int64? = 0
        while let number = lastReceived {
            lastReceived = try await self.ask { try $0.resealReceived(after: number, limit: 100) }
        }
        try await self.ask { try $0.resealSessions() }
    }

    /// Erases a row, whether it waits or not.
    ///
    /// A connection that has loaded it already still sends it.
    ///
    /// - Parameters:
    ///   - key: the key of the delivery.
    ///   - account: its account.
    /// - Returns: whether there was one.
    /// - Throws: ``OutboxError``.
    @discardableResult
    public func erase(key: String, account: String? = nil) async throws(OutboxError) -> Bool {
        let isThere = try await self.ask { try $0.erase(key: key, account: account) }
        self.executor.execute { self.engine.forgetOutcomes { $0.key == key && $0.account == account } }
        return isThere
    }
}
#endif
