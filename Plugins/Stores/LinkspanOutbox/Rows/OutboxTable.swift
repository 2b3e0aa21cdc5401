#if OUTBOX
internal import Foundation
internal import GRDB
internal import Linkspan
internal import Logging

/// The rows of the file, inside one transaction.
struct OutboxTable {
    let database: Database
    let session: OutboxSession
    let options: OutboxOptions
    var totals: OutboxTotals

    /// Rows, with the start of the system in which each was kept.
    private static let rows = """
        SELECT delivery.*, start FROM delivery LEFT JOIN session ON session.number = delivery.session
        """

    /// The size in a row, as one that payloads can have, so that no sum of them overflows.
    private static let size = "CAST(iif(size BETWEEN 0 AND 2147483647, size, 0) AS INTEGER)"

    /// The last number and place that a row may have: half as many are left for those to come.
    private static let maximum = Int64.max / 2

    /// The approximate bytes that a change of a row writes to the log besides the payload.
    private static let rowSize = 512

    var sealing: SealedPayload { SealedPayload(cipher: self.options.cipher) }

    /// Runs a statement that is prepared once.
    func run(_ sql: String, _ arguments: StatementArguments) throws {
        try self.database.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// The account as it stands in the column.
    static func column(_ account: String?) -> String { account.map { "@\($0)" } ?? "" }
}

// MARK: - Calls of connections

extension OutboxTable {
    /// Adds a delivery, or answers with the row of the same key.
    mutating func keep(_ delivery: StoredDelivery) throws -> Result<StoredDelivery, any Error> {
        let size = delivery.event.utf8.count + delivery.key.utf8.count + delivery.payload.byteCount
        guard self.totals.waiting < self.options.rows, self.totals.waitingBytes + size <= self.options.bytes else {
            if let former = try self.find(key: delivery.key, account: delivery.account) { return .success(former) }
            return .failure(
                OutboxError(.full, "\(self.totals.waiting) deliveries of \(self.totals.waitingBytes) bytes are waiting")
            )
        }
        var row = delivery
        if self.options.countsKeys, row.hasMadeKey {
            row.key = self.session.keys.next(account: Self.column(row.account), orderingKey: row.orderingKey)
        }
        row.number = self.totals.lastNumber + 1
        let (now, account) = (self.session.clock.now(), Self.column(row.account))
        let content = try self.sealing.encode(row.payload, .content, key: row.key, account: account)
        try self.run(
            """
            INSERT INTO delivery
                (number, account, key, ordering_key, event, content, compressible, size, timeout, session,
                kept_wall, kept_start, checksum)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (account, key) DO NOTHING
            """,
            [
                Int64(row.number), account, row.key, row.orderingKey, row.event, content, row.isCompressible, size,
                row.timeout?.milliseconds, self.session.number, now.wall, now.sinceStart,
                RowChecksum.make([account, row.key, row.orderingKey, row.event], content),
            ])
        // Most keys are new, so that asking for the former row before would be one search too many.
        if self.database.changesCount == 0 {
            guard let former = try self.find(key: row.key, account: row.account) else {
                throw OutboxError(.corrupt, "the table of deliveries takes no row")
            }
            return .success(former)
        }
        self.totals.lastNumber = row.number
        self.totals.waiting += 1
        self.totals.writtenBytes += size + Self.rowSize
        self.totals.waitingBytes += size
        return .success(row)
    }

    /// Records the number of the latest delivery; the lock has it, too, and so tells whether the log has lost any.
    func recordLast() throws {
        try self.run(
            "UPDATE session SET last = ? WHERE number = ?", [Int64(self.totals.lastNumber), self.session.number])
    }

    /// Records the outcome of a delivery that waits; nothing happens when there is no such row.
    mutating func end(_ delivery: StoredDelivery) throws {
        try self.end(delivery, where: "account = ? AND key = ?", [Self.column(delivery.account), delivery.key])
    }

    private mutating func end(
        _ delivery: StoredDelivery, where condition: String, _ arguments: StatementArguments
    ) throws {
        guard let outcome = delivery.outcome else { return }
        let account = Self.column(delivery.account)
        // Without an index when that does not have it: a row that never ended would be sent by each process.
        let find = { [database] (source: String) in
            let statement = try database.cachedStatement(
                sql: "SELECT number, \(Self.size) FROM \(source) WHERE \(condition) AND ended IS NULL")
            return try Row.fetchOne(statement, arguments: arguments)
        }
        guard let row = try find("delivery") ?? find("delivery NOT INDEXED") else { return }
        let (number, size): (Int64, Int) = (row[0], row[1])
        let columns = try OutcomeColumns(outcome) { reply throws(OutboxError) in
            try self.sealing.encode(reply, .reply, key: delivery.key, account: account)
        }
        try self.run(
            """
            UPDATE delivery SET ended = ?, fate = ?, code = ?, certainty = ?, message = ?, reply = ?,
                content = iif(?, NULL, content)
            WHERE number = ?
            """,
            [
                self.totals.lastEnded + 1, columns.fate.rawValue, columns.code, columns.certainty, columns.message,
                columns.reply, columns.fate == .delivered, number,
            ])
        self.totals.lastEnded += 1
        self.totals.waiting -= 1
        self.totals.writtenBytes += Self.rowSize
        self.totals.waitingBytes -= size
        self.totals.outcomes += 1
        if columns.fate == .setAside { self.totals.setAside += 1 }
        try self.dropOldOutcomes()
    }

    /// Records how often the server has asked for a delivery to come later; nothing happens when it does not wait.
    mutating func postpone(_ delivery: StoredDelivery) throws {
        try self.run(
            "UPDATE delivery SET refusals = ? WHERE account = ? AND key = ? AND ended IS NULL",
            [delivery.refusals, Self.column(delivery.account), delivery.key])
        self.totals.writtenBytes += Self.rowSize
    }

    /// Drops the oldest outcomes to make room.
    private mutating func dropOldOutcomes() throws {
        guard self.totals.outcomes > self.options.outcomes else { return }
        try self.run(
            """
            DELETE FROM delivery WHERE number =
                (SELECT number FROM delivery WHERE ended IS NOT NULL ORDER BY ended LIMIT 1)
            """, [])
        self.totals.outcomes -= self.database.changesCount
        try self.countSetAside()
    }

    /// Counts the deliveries set aside, after an erased outcome that may have been one.
    mutating func countSetAside() throws {
        guard self.totals.setAside > 0 else { return }
        self.totals.setAside =
            try Int.fetchOne(
                self.database, sql: "SELECT count(*) FROM delivery WHERE ended IS NOT NULL AND fate = ?",
                arguments: [DeliveryFate.setAside.rawValue]) ?? 0
    }

    /// The row of a key.
    func find(key: String, account: String?) throws -> StoredDelivery? {
        try self.entries("account = ? AND key = ?", [Self.column(account), key]).first?.delivery
    }

    /// Rows that wait, in the order of their numbers; one that cannot be read ends with that.
    mutating func waiting(
        account: String?, after number: UInt64, upTo last: UInt64, rows: Int, bytes: Int
    ) throws -> [StoredDelivery] {
        try self.waiting(
            "account = ? AND ended IS NULL AND delivery.number > ? AND delivery.number <= ?",
            [Self.column(account), Int64(clamping: number), Int64(clamping: last)], rows: rows, bytes: bytes)
    }

    /// Ends the rows of all accounts that wait and cannot be read.
    mutating func endDamaged() throws {
        var last: Int64 = 0
        while let row = try self.waiting("ended IS NULL AND delivery.number > ?", [last], rows: 100, bytes: 1 << 20)
            .last
        { last = Int64(clamping: row.number) }
    }

    private mutating func waiting(
        _ condition: String, _ arguments: StatementArguments, rows: Int, bytes: Int
    ) throws -> [StoredDelivery] {
        let statement = try self.database.cachedStatement(
            sql: "\(Self.rows) WHERE \(condition) ORDER BY delivery.number LIMIT ?")
        let cursor = try Row.fetchCursor(statement, arguments: arguments + [rows])
        var (page, size) = ([StoredDelivery](), 0)
        while let row = try cursor.next() {
            let delivery = try self.entry(row).delivery
            size += delivery.payload.byteCount
            guard page.isEmpty || size <= bytes else { break }
            page.append(delivery)
        }
        for delivery in page where delivery.outcome != nil {
            self.options.logger.error(
                "A stored delivery cannot be read",
                metadata: ["number": "\(delivery.number)", "key": "\(delivery.key)"])
            // Its key may be what cannot be read.
            try self.end(delivery, where: "number = ?", [Int64(clamping: delivery.number)])
        }
        return page
    }

    /// Erases all rows of an account.
    mutating func erase(account: String?) throws {
        for table in ["delivery", "received", "received_session"] {
            try self.run("DELETE FROM \(table) WHERE account = ?", [Self.column(account)])
        }
        try self.count()
    }

    /// Counts the rows of the file.
    mutating func count() throws {
        let waiting = try Row.fetchOne(
            self.database, sql: "SELECT count(*), coalesce(sum(\(Self.size)), 0) FROM delivery WHERE ended IS NULL")
        self.totals.waiting = waiting?[0] ?? 0
        self.totals.oldestNumber = 0
        self.totals.waitingBytes = waiting?[1] ?? 0
        self.totals.outcomes =
            try Int.fetchOne(self.database, sql: "SELECT count(*) FROM delivery WHERE ended IS NOT NULL") ?? 0
        // Of the rows that there were, some may be erased.
        self.totals.lastEnded = try self.last(
            "ended", of: "delivery", atLeast: max(self.totals.lastEnded, self.session.firstPlace))
        self.totals.received = try Int.fetchOne(self.database, sql: "SELECT count(*) FROM received") ?? 0
        self.totals.lastReceived = try self.last(
            "number", of: "received", atLeast: max(self.totals.lastReceived, self.session.firstPlace))
        self.totals.setAside = .max
        try self.countSetAside()
        self.totals.lastNumber = UInt64(
            try self.last("number", of: "delivery", atLeast: max(Int64(self.totals.lastNumber), self.session.last)))
    }

    /// The last number in a column; rows whose number damage has put out of range get the next ones.
    private func last(_ column: String, of table: String, atLeast former: Int64) throws -> Int64 {
        let greatest =
            try Int64.fetchOne(
                self.database,
                sql: "SELECT CAST(max(\(column)) AS INTEGER) FROM \(table) WHERE \(column) BETWEEN 1 AND ?",
                arguments: [Self.maximum]) ?? 0
        var last = max(former, greatest)
        // Two searches of an index; as one condition it would be a walk over all rows.
        let damaged = try Int64.fetchAll(
            self.database,
            sql: """
                SELECT rowid FROM \(table) WHERE \(column) < 1 UNION ALL
                SELECT rowid FROM \(table) WHERE \(column) > ?
                """, arguments: [Self.maximum])
        for row in damaged {
            last += 1
            try self.run("UPDATE \(table) SET \(column) = ? WHERE rowid = ?", [last, row])
        }
        return last
    }
}

// MARK: - Calls of apps

extension OutboxTable {
    /// Outcomes of an account that are not confirmed, in the order in which they came.
    func outcomes(account: String?, after place: Int64, limit: Int) throws -> [OutboxEntry] {
        try self.entries("ended > ? AND account = ? ORDER BY ended LIMIT ?", [place, Self.column(account), limit])
    }

    /// The age of the oldest delivery that waits; nil when none does.
    mutating func oldestAge() throws -> Duration? {
        guard self.totals.waiting > 0 else { return nil }
        let statement = try self.database.cachedStatement(
            sql: "\(Self.rows) WHERE delivery.number >= ? AND ended IS NULL ORDER BY delivery.number LIMIT 1")
        guard let row = try Row.fetchOne(statement, arguments: [Int64(clamping: self.totals.oldestNumber)]) else {
            return nil
        }
        self.totals.oldestNumber = UInt64(clamping: row["number"] as Int64)
        return .milliseconds(self.age(row))
    }

    /// Counts the deliveries of all accounts together.
    mutating func figures() throws -> OutboxFigures {
        OutboxFigures(
            waiting: self.totals.waiting, bytes: self.totals.waitingBytes, oldest: try self.oldestAge(),
            outcomes: self.totals.outcomes, setAside: self.totals.setAside, received: self.totals.received)
    }

    /// Counts the deliveries of one account.
    func figures(account: String?) throws -> OutboxFigures {
        let account = Self.column(account)
        let waiting = try Row.fetchOne(
            self.database,
            sql: "SELECT count(*), coalesce(sum(\(Self.size)), 0) FROM delivery WHERE account = ? AND ended IS NULL",
            arguments: [account])
        let outcomes = try Row.fetchOne(
            self.database,
            sql: """
                SELECT count(*), coalesce(sum(fate = ?), 0) FROM delivery WHERE account = ? AND ended IS NOT NULL
                """, arguments: [DeliveryFate.setAside.rawValue, account])
        let received = try Int.fetchOne(
            self.database, sql: "SELECT count(*) FROM received WHERE account = ?", arguments: [account])
        let oldest = try Row.fetchOne(
            self.database, sql: "\(Self.rows) WHERE account = ? AND ended IS NULL ORDER BY delivery.number LIMIT 1",
            arguments: [account])
        return OutboxFigures(
            waiting: waiting?[0] ?? 0, bytes: waiting?[1] ?? 0, oldest: oldest.map { .milliseconds(self.age($0)) },
            outcomes: outcomes?[0] ?? 0, setAside: outcomes?[1] ?? 0, received: received ?? 0)
    }

    /// Rows of all accounts, in the order of their numbers.
    func entries(after number: UInt64, limit: Int) throws -> [OutboxEntry] {
        try self.entries(
            "delivery.number > ? ORDER BY delivery.number LIMIT ?", [Int64(clamping: number), limit])
    }

    private func entries(_ condition: String, _ arguments: StatementArguments) throws -> [OutboxEntry] {
        let statement = try self.database.cachedStatement(sql: "\(Self.rows) WHERE \(condition)")
        let cursor = try Row.fetchCursor(statement, arguments: arguments)
        return try Array(cursor.map { try self.entry($0) })
    }

    /// Makes a delivery wait again.
    ///
    /// - Returns: whether there was one that has ended and not reached the server.
    mutating func retry(key: String, account: String?) throws -> Bool {
        let now = self.session.clock.now()
        try self.run(
            """
            UPDATE delivery SET ended = NULL, fate = NULL, code = NULL, certainty = NULL, message = NULL, reply = NULL,
                refusals = 0, session = ?, kept_wall = ?, kept_start = ?
            WHERE account = ? AND key = ? AND ended IS NOT NULL AND content IS NOT NULL
            """,
            [self.session.number, now.wall, now.sinceStart, Self.column(account), key])
        guard self.database.changesCount > 0 else { return false }
        try self.count()
        return true
    }

    /// Erases a row.
    ///
    /// - Returns: whether there was one.
    mutating func erase(key: String, account: String?) throws -> Bool {
        try self.run("DELETE FROM delivery WHERE account = ? AND key = ?", [Self.column(account), key])
        guard self.database.changesCount > 0 else { return false }
        try self.count()
        return true
    }

    /// Rewrites the payloads of some rows with the present cipher.
    ///
    /// - Returns: the number of the last row; nil when there are none after `number`.
    func reseal(after number: UInt64, limit: Int) throws -> UInt64? {
        let rows = try Row.fetchAll(
            self.database,
            sql: "SELECT * FROM delivery WHERE number > ? ORDER BY number LIMIT ?",
            arguments: [Int64(clamping: number), limit])
        for row in rows where RowChecksum.matches(row) {
            guard let account: String = row.value("account"), let key: String = row.value("key") else { continue }
            let (content, reply): (Data?, Data?) = (row.value("content"), row.value("reply"))
            let renew = { (data: Data, role: SealedPayload.Role) throws(OutboxError) -> Data in
                guard let payload = try self.payload(in: data, role, key: key, account: account) else { return data }
                return try self.sealing.encode(payload, role, key: key, account: account)
            }
            let renewed = try content.map { try renew($0, .content) }
            try self.run(
                "UPDATE delivery SET content = ?, checksum = ?, reply = ? WHERE number = ?",
                [
                    renewed, renewed.map { RowChecksum.make(of: row, $0) }, try reply.map { try renew($0, .reply) },
                    row["number"] as Int64,
                ])
        }
        return rows.last.map { UInt64(clamping: $0["number"] as Int64) }
    }

    /// Forgets the outcome of a delivery.
    ///
    /// - Returns: whether there was one.
    mutating func confirm(key: String, account: String?) throws -> Bool {
        try self.confirm(where: "account = ? AND key = ? AND ended IS NOT NULL", [Self.column(account), key])
    }

    /// Forgets the outcome of an entry, also when its key cannot be read.
    mutating func confirm(_ entry: OutboxEntry) throws -> Bool {
        try self.confirm(
            where: "number = ? AND ended IS NOT NULL AND (key = ? OR ended = ?)",
            [Int64(clamping: entry.delivery.number), entry.delivery.key, entry.place])
    }

    private mutating func confirm(where condition: String, _ arguments: StatementArguments) throws -> Bool {
        try self.run("DELETE FROM delivery WHERE \(condition)", arguments)
        let count = self.database.changesCount
        self.totals.outcomes -= count
        if count > 0 { try self.countSetAside() }
        return count > 0
    }
}

extension Duration {
    /// The whole milliseconds; those that no integer counts are the most.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        return overflow ? .max : product + attoseconds / 1_000_000_000_000_000
    }
}
#endif
