#if OUTBOX
internal import GRDB

/// The tables of the file, and how older files get them.
///
/// The version is SQLite's `user_version`: how many of the steps the file has had. Each step is a transaction of its own
/// together with its number, so a process that dies in between leaves the file as it was before or after one.
enum OutboxSchema {
    /// The mark that distinguishes the file from databases of others: "LKOB".
    static let applicationID = 0x4C4B_4F42

    /// The additions to the tables, in order.
    ///
    /// Released steps never change.
    static let steps = [
        """
        -- Who made the keys in this file: 128 random bits, made with the file.
        CREATE TABLE producer (id TEXT NOT NULL) STRICT;
        -- The openings of the file. A token is random, so that a file restored from a backup cannot use one again.
        CREATE TABLE session (
            number INTEGER PRIMARY KEY,
            token TEXT NOT NULL,
            -- The start of the system that the rows' kept_start counts from.
            start TEXT NOT NULL
        ) STRICT;
        CREATE TABLE delivery (
            number INTEGER PRIMARY KEY,
            -- '@' and the name of the account; empty for connections without credentials.
            account TEXT NOT NULL,
            key TEXT NOT NULL,
            ordering_key TEXT NOT NULL,
            event TEXT NOT NULL,
            -- The arguments; NULL when they have reached the server.
            content BLOB,
            compressible INTEGER NOT NULL,
            size INTEGER NOT NULL,
            -- Milliseconds from when it was kept.
            timeout INTEGER,
            session INTEGER NOT NULL,
            kept_wall INTEGER NOT NULL,
            kept_start INTEGER NOT NULL,
            -- How often the server has asked for it to come later.
            refusals INTEGER NOT NULL DEFAULT 0,
            -- Its place among the outcomes; NULL while it waits.
            ended INTEGER,
            fate INTEGER,
            code TEXT,
            certainty INTEGER,
            message TEXT,
            -- The server's answer.
            reply BLOB
        ) STRICT;
        CREATE UNIQUE INDEX delivery_key ON delivery (account, key);
        -- Has all columns that counting and finding what waits take.
        CREATE INDEX delivery_waiting ON delivery (account, number, size, ended) WHERE ended IS NULL;
        CREATE INDEX delivery_ended ON delivery (ended) WHERE ended IS NOT NULL;
        """,
        """
        -- The last session of each account with the server.
        CREATE TABLE received_session (
            account TEXT PRIMARY KEY,
            -- What it is resumed from; NULL when it cannot be.
            resumption BLOB
        ) STRICT, WITHOUT ROWID;
        -- What was received and is not confirmed.
        CREATE TABLE received (
            number INTEGER PRIMARY KEY,
            account TEXT NOT NULL,
            -- NULL for a gap.
            event TEXT,
            content BLOB,
            -- Of a gap: how many were dropped; NULL when the session was lost.
            missed INTEGER
        ) STRICT;
        CREATE INDEX received_account ON received (account, number);
        """,
        """
        -- Of what is sent; NULL in rows of earlier versions.
        ALTER TABLE delivery ADD COLUMN checksum INTEGER;
        -- The number of the latest delivery when the session last kept one.
        ALTER TABLE session ADD COLUMN last INTEGER;
        """,
    ]

    /// Brings the tables up to date.
    ///
    /// - Parameters:
    ///   - database: one that was checked.
    ///   - onStep: called for each step.
    /// - Throws: the database's error.
    static func migrate(_ database: Database, onStep: (@Sendable (String) -> Void)?) throws {
        let version = try Self.version(of: database)
        for (number, step) in self.steps.enumerated().dropFirst(version) {
            try database.inTransaction(.immediate) {
                try database.execute(sql: step)
                onStep?(OutboxStep.migrating.rawValue)
                if number == 0 {
                    try database.execute(sql: "PRAGMA application_id = \(self.applicationID)")
                    try database.execute(
                        sql: "INSERT INTO producer (id) VALUES (?)", arguments: [Token.make() + Token.make()])
                }
                try database.execute(sql: "PRAGMA user_version = \(number + 1)")
                return .commit
            }
        }
    }

    /// Throws unless the file is empty, or an outbox that this version understands.
    static func check(_ database: Database, path: String) throws {
        let version = try Self.version(of: database)
        let id = try Int.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let isEmpty = try Bool.fetchOne(database, sql: "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)") ?? true
        guard id == self.applicationID || isEmpty && id == 0 && version == 0 else {
            // No other program's mark differs from ours in one byte.
            let isDamaged = UInt32(truncatingIfNeeded: id ^ self.applicationID).nonzeroBitCount <= 8
            throw OutboxError(isDamaged ? .corrupt : .notAnOutbox, "'\(path)' is not an outbox")
        }
        guard version >= 0 else { throw OutboxError(.corrupt, "'\(path)' has version \(version)") }
        guard version <= self.steps.count else {
            throw OutboxError(
                .newerSchema, "'\(path)' has version \(version), this SDK supports \(self.steps.count): update the app"
            )
        }
    }

    /// Throws unless the tables of a file are described as its version does, without triggers: nothing else may act on
    /// what is written.
    ///
    /// - Parameters:
    ///   - database: one that was checked.
    ///   - path: its path, for the error.
    ///   - mayBeNew: whether it may have no tables yet, because no delivery was accepted.
    /// - Throws: `corrupt`, or the database's error.
    static func checkTables(_ database: Database, path: String, mayBeNew: Bool) throws {
        let version = try Self.version(of: database)
        guard version > 0 || mayBeNew else { throw OutboxError(.corrupt, "'\(path)' has no tables") }
        let expected = try DatabaseQueue().writeWithoutTransaction { model in
            for step in Self.steps.prefix(version) { try model.execute(sql: step) }
            return try Self.descriptions(in: model)
        }
        guard try Self.descriptions(in: database) == expected else {
            throw OutboxError(.corrupt, "'\(path)' has tables that are described wrongly")
        }
    }

    /// The descriptions of our tables, and of all that belongs to them, without the white space that SQLite may change.
    private static func descriptions(in database: Database) throws -> [String] {
        try String.fetchAll(
            database,
            sql: """
                SELECT type || name || replace(replace(coalesce(sql, ''), char(10), ''), ' ', '') FROM sqlite_schema
                WHERE tbl_name IN ('producer', 'session', 'delivery', 'received_session', 'received') ORDER BY 1
                """)
    }

    static func version(of database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
    }
}

/// Random names.
enum Token {
    /// 64 random bits as 16 characters.
    static func make() -> String {
        let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
#endif
