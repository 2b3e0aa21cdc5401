#if OUTBOX
public import Linkspan
internal import LinkspanRuntime

// MARK: - Sessions

extension Outbox {
    /// Answers with the last session of an account, for the connection that has it open.
    public func session(
        account: String?, _ answer: @escaping @Sendable (Result<StoredSession?, any Error>) -> Void
    ) {
        self.add(.glance) {
            try $0.receivedSession(account: account)
        } answer: { [engine] session in
            answer(session.map { engine.takesSession(account) ? $0 : nil }.mapError { $0 })
        }
    }

    /// Keeps the state of an account's session, as far as the file can be written.
    public func keep(_ session: StoredSession, account: String?) {
        self.add { try $0.keep(session, account: account) }
    }
}

// MARK: - Events

extension Outbox {
    /// Records an event of a connection as it is received, before it is handled, so that a crash in between loses
    /// nothing: ``received(account:)`` offers it until it is confirmed, in this process or a later one.
    ///
    /// The position of the session is committed together with the event. A server that resumes sessions therefore sends
    /// again exactly the events that are not recorded.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - connection: a connection whose options have this outbox as their store.
    ///   - account: the account, for a connection whose credential source has none. Otherwise each event belongs to the
    ///     account of the connection's source when it comes, also after a move to another user.
    /// - Returns: the registration.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `released`.
    @discardableResult
    public func record(
        _ event: String, of connection: any Connection, account: String? = nil
    ) throws(LinkspanError) -> Subscription {
        try connection.subscribe(to: event, once: false) { [weak self, weak connection] mark in
            guard case .gap = mark, let self else { return }
            self.record(.continuity(mark), account: Self.owner(connection?.status, account).account, nil)
        } _: { [weak self, weak connection] message in
            guard let self else { return }
            // The status already names the position after this message.
            let owner = Self.owner(connection?.status, account)
            self.record(.message(message.detached()), account: owner.account, owner.resumption)
        }
    }

    /// The account of an event and the position of its session, which is never stored for another account.
    private static func owner(_ status: ConnectionStatus?, _ account: String?) -> (
        account: String?, resumption: Secret?
    ) {
        guard let own = status?.account else { return (account, account == nil ? status?.resumption : nil) }
        return (own, status?.resumption)
    }

    /// Records an item, and the position of its session after it.
    func record(_ item: EventItem<Message>, account: String?, _ resumption: Secret?) {
        self.executor.execute {
            let failed = self.engine.takeFailed(account)
            self.add(.keep) { table in
                let isRecorded = try table.record(item, account: account, behind: failed)
                if isRecorded, let resumption {
                    try table.keep(StoredSession(resumption: resumption), account: account)
                }
                return isRecorded
            } answer: { [engine = self.engine] isRecorded in
                engine.noteRecording((try? isRecorded.get()) ?? false)
                if case .failure = isRecorded { engine.noteFailed(failed + 1, account) }
            }
        }
    }

    /// The events of an account that were recorded and are not confirmed, the oldest first, and then each new one as it
    /// comes, with a mark wherever some are missing.
    ///
    /// Whatever is not confirmed comes again in the next sequence, in this process or a later one:
    ///
    /// ```swift
    /// try outbox.record("line", of: handler, account: "ann")
    /// for try await entry in outbox.received(account: "ann") {
    ///     if case .message(let message) = entry.item { try show(message) }
    ///     try await outbox.confirm(entry)
    /// }
    /// ```
    ///
    /// The sequence ends with its task, and fails with an ``OutboxError``.
    ///
    /// - Parameter account: the account; nil for connections without credentials.
    /// - Returns: the sequence.
    public func received(account: String? = nil) -> AsyncThrowingStream<ReceivedEntry, any Error> {
        self.pages(until: \.lastReceived) { table, number in
            try table.received(account: account, after: number, limit: 64)
        } place: {
            $0.number
        }
    }

    /// Confirms that the app has handled an event: it is erased.
    ///
    /// - Parameter entry: an entry of ``received(account:)``.
    /// - Returns: whether it was there.
    /// - Throws: ``OutboxError``.
    @discardableResult
    public func confirm(_ entry: ReceivedEntry) async throws(OutboxError) -> Bool {
        try await self.ask { try $0.confirm(received: entry.number) }
    }
}
#endif
