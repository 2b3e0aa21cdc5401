#if OUTBOX
internal import Foundation
internal import GRDB
internal import Linkspan
internal import Logging

/// The received events, inside one transaction.
extension OutboxTable {
    // MARK: Sessions

    /// The last session of an account; nil when there was none.
    func receivedSession(account: String?) throws -> StoredSession? {
        let account = Self.column(account)
        let row = try Row.fetchOne(
            self.database, sql: "SELECT resumption FROM received_session WHERE account = ?", arguments: [account])
        guard let row else { return nil }
        let payload = try row.value("resumption").flatMap { (data: Data) in
            try self.sealing.decode(data, .resumption, key: "", account: account)
        }
        return StoredSession(resumption: payload?[0]?.string.map { Secret($0) })
    }

    /// Keeps the session of an account.
    func keep(_ session: StoredSession, account: String?) throws {
        let account = Self.column(account)
        let resumption = try session.resumption.map { secret in
            try self.sealing.encode(Payload(secret.exposed), .resumption, key: "", account: account)
        }
        try self.run(
            "INSERT OR REPLACE INTO received_session (account, resumption) VALUES (?, ?)", [account, resumption])
    }

    // MARK: Events

    /// Records an event or a gap, after a mark for those missed before it; without room it is missed, too.
    ///
    /// - Parameters:
    ///   - item: the event or gap.
    ///   - account: its account.
    ///   - failed: the number of events before it whose transactions have failed.
    /// - Returns: false when there is no room.
    /// - Throws: the database's error, or `cipherFailed`.
    mutating func record(_ item: EventItem<Message>, account: String?, behind failed: Int) throws -> Bool {
        let missed = failed + self.totals.missed[account, default: 0]
        // No mark without an event after it: where places come free one by one, marks would take each of them. The two
        // have room in an empty table, whatever its limit.
        let needed = missed == 0 ? 1 : 2
        guard self.totals.received + needed <= max(needed, self.options.received) else {
            self.totals.missed[account] = missed + 1
            return false
        }
        self.totals.missed[account] = nil
        if missed > 0 { try self.insert(.continuity(.gap(.overflow(missed: missed))), account: account) }
        try self.insert(item, account: account)
        return true
    }

    private mutating func insert(_ item: EventItem<Message>, account: String?) throws {
        let (number, account) = (self.totals.lastReceived + 1, Self.column(account))
        var (event, content, missed): (String?, Data?, Int?) = (nil, nil, nil)
        switch item {
        case .message(let message):
            event = message.event
            content = try self.sealing.encode(message.payload, .received, key: "\(number)", account: account)
        case .continuity(.gap(.overflow(let count))): missed = count
        case .continuity: ()
        }
        try self.run(
            "INSERT INTO received (number, account, event, content, missed) VALUES (?, ?, ?, ?, ?)",
            [number, account, event, content, missed])
        self.totals.lastReceived = number
        self.totals.received += 1
        self.totals.writtenBytes += content?.count ?? 0
    }

    /// Events of an account that are not confirmed, in the order in which they came.
    func received(account: String?, after number: Int64, limit: Int) throws -> [ReceivedEntry] {
        let statement = try self.database.cachedStatement(
            sql: """
                SELECT number, event, content, missed FROM received WHERE account = ? AND number > ?
                ORDER BY number LIMIT ?
                """)
        let column = Self.column(account)
        return try Row.fetchAll(statement, arguments: [column, number, limit]).map { row in
            let number: Int64 = row["number"]
            guard let event: String = row.value("event"), let content: Data = row.value("content") else {
                let missed: Int32? = row.value("missed")
                return ReceivedEntry(
                    item: .continuity(.gap(missed.map { .overflow(missed: Int($0)) } ?? .reconnected)),
                    account: account, number: number)
            }
            guard let payload = try self.payload(in: content, .received, key: "\(number)", account: column) else {
                self.options.logger.error("A recorded event cannot be read", metadata: ["number": "\(number)"])
                return ReceivedEntry(item: .continuity(.gap(.overflow(missed: 1))), account: account, number: number)
            }
            return ReceivedEntry(
                item: .message(Message(event: event, payload: payload)), account: account, number: number)
        }
    }

    /// Erases an event.
    ///
    /// - Returns: whether it was there.
    mutating func confirm(received number: Int64) throws -> Bool {
        try self.run("DELETE FROM received WHERE number = ?", [number])
        self.totals.received -= self.database.changesCount
        return self.database.changesCount > 0
    }

    // MARK: The cipher

    /// Rewrites the sessions with the present cipher.
    func resealSessions() throws {
        let accounts = try String.fetchAll(self.database, sql: "SELECT account FROM received_session")
        for column in accounts {
            let account = column.isEmpty ? nil : String(column.dropFirst())
            if let session = try self.receivedSession(account: account) { try self.keep(session, account: account) }
        }
    }

    /// Rewrites some events with the present cipher.
    ///
    /// - Returns: the number of the last one; nil when there are none after `number`.
    func resealReceived(after number: Int64, limit: Int) throws -> Int64? {
        let rows = try Row.fetchAll(
            self.database,
            sql: "SELECT number, account, content FROM received WHERE number > ? ORDER BY number LIMIT ?",
            arguments: [number, limit])
        for row in rows {
            let number: Int64 = row["number"]
            guard let account: String = row.value("account"), let content: Data = row.value("content"),
                let payload = try self.payload(in: content, .received, key: "\(number)", account: account)
            else { continue }
            try self.run(
                "UPDATE received SET content = ? WHERE number = ?",
                [try self.sealing.encode(payload, .received, key: "\(number)", account: account), number])
        }
        return rows.last?["number"]
    }
}
#endif
