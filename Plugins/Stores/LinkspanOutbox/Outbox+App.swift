#if OUTBOX
internal import Linkspan
internal import LinkspanRuntime

extension Outbox {
    /// Closes the file after the calls made before; another outbox may then open it.
    ///
    /// Whatever is asked afterwards fails with code ``OutboxError/Code/closed``. Release the connections first.
    public func close() async {
        await self.afterCalls { self.closeFile() }
    }

    /// Closes the file after the calls made before; later calls wait for ``resume()``.
    ///
    /// For apps that are about to be suspended and have the file in the container of an app group, where the system
    /// ends an app that is suspended with a lock on a file (0xdead10cc).
    public func suspend() async {
        await self.afterCalls { self.engine.suspend() }
    }

    /// Goes on after ``suspend()``.
    public func resume() {
        self.executor.execute { if self.engine.resume() { self.performCalls() } }
    }

    /// Counts the deliveries of one account.
    ///
    /// - Parameter account: the account; nil for connections without credentials.
    /// - Returns: the figures.
    /// - Throws: ``OutboxError``.
    public func figures(account: String?) async throws(OutboxError) -> OutboxFigures {
        try await self.ask { try $0.figures(account: account) }
    }

    /// Counts the deliveries of all accounts together; early, it finds out whether the file can be opened.
    ///
    /// - Returns: the figures.
    /// - Throws: ``OutboxError``.
    public func figures() async throws(OutboxError) -> OutboxFigures { try await self.ask { try $0.figures() } }
}

// MARK: - Outcomes

extension Outbox {
    /// The outcomes of an account that are not confirmed, the oldest first, and then each new one as it comes.
    ///
    /// Whatever is not confirmed comes again in the next sequence, in this process or a later one:
    ///
    /// ```swift
    /// for try await entry in outbox.outcomes(account: "ann") {
    ///     show(entry)
    ///     try await outbox.confirm(entry)
    /// }
    /// ```
    ///
    /// The sequence ends with its task, and fails with an ``OutboxError``.
    ///
    /// - Parameter account: the account; nil for connections without credentials.
    /// - Returns: the sequence.
    public func outcomes(account: String? = nil) -> AsyncThrowingStream<OutboxEntry, any Error> {
        self.pages(until: \.lastEnded) { table, place in
            try table.outcomes(account: account, after: place, limit: 64)
        } place: {
            $0.place
        }
    }

    /// Confirms that the app has dealt with an outcome: the row is erased.
    ///
    /// Its key is unknown from then on, and a delivery with the same one is a new one.
    ///
    /// - Parameter entry: an entry of ``outcomes(account:)``.
    /// - Returns: whether the outcome was there.
    /// - Throws: ``OutboxError``.
    @discardableResult
    public func confirm(_ entry: OutboxEntry) async throws(OutboxError) -> Bool {
        try await self.ask { try $0.confirm(entry) }
    }

    /// Confirms that the app has dealt with the outcome of a delivery: its row is erased.
    ///
    /// - Parameters:
    ///   - key: the key of the delivery.
    ///   - account: its account.
    /// - Returns: whether the outcome was there; false while the delivery waits.
    /// - Throws: ``OutboxError``.
    @discardableResult
    public func confirm(key: String, account: String? = nil) async throws(OutboxError) -> Bool {
        try await self.ask { try $0.confirm(key: key, account: account) }
    }
}

// MARK: - Asking

extension Outbox {
    /// Entries in the order of their places, page by page, and then each new one as it comes.
    func pages<Entry: Sendable>(
        until last: EntryWait.Last, _ page: @escaping @Sendable (OutboxTable, _ after: Int64) throws -> [Entry],
        place: @escaping @Sendable (Entry) -> Int64
    ) -> AsyncThrowingStream<Entry, any Error> {
        // The place of the last entry that was brought, and the rest of its page.
        let reader = Lock<(place: Int64, page: [Entry])>((0, []))
        return AsyncThrowingStream {
            while !Task.isCancelled {
                let after = reader.withLock { reader in reader.page.isEmpty ? reader.place : nil }
                guard let after else {
                    return reader.withLock { reader in
                        let next = reader.page.removeFirst()
                        reader.place = place(next)
                        return next
                    }
                }
                let (entries, latest) = try await self.ask { (try page($0, after), $0.totals[keyPath: last]) }
                // After the last one of all accounts: one of another account is no reason to ask again.
                if entries.isEmpty { await self.wait(EntryWait(last, after: latest)) }
                reader.withLock { $0.page = entries }
            }
            return nil
        }
    }

    /// Returns when there may be an entry after a place, or the task is cancelled.
    private func wait(_ wait: EntryWait) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.executor.execute { self.engine.begin(wait) { continuation.resume() } }
                // The handler below may have run too early to find it.
                if Task.isCancelled { self.executor.execute { self.engine.end(wait) } }
            }
        } onCancel: {
            self.executor.execute { self.engine.end(wait) }
        }
    }

    /// Performs `body` in the next transaction, and waits for its commit.
    func ask<Answer: Sendable>(
        _ body: @escaping @Sendable (inout OutboxTable) throws -> Answer
    ) async throws(OutboxError) -> Answer {
        let result = await withCheckedContinuation { continuation in
            self.executor.execute { self.add(perform: body) { continuation.resume(returning: $0) } }
        }
        return try result.get()
    }

    /// Runs `body` on the executor, after all calls made before.
    private func afterCalls(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            // The first job runs after the calls, the second after the transaction they began.
            self.executor.execute {
                self.executor.execute {
                    body()
                    continuation.resume()
                }
            }
        }
    }

    /// Closes the file; called on the executor.
    func closeFile() {
        self.engine.close()
        // Of a suspended outbox, calls are waiting.
        if self.engine.resume() { self.performCalls() }
    }
}
#endif
