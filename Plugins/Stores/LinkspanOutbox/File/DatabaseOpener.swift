#if OUTBOX
internal import GRDB
internal import GRDBSQLite
internal import Logging

/// The open database of an outbox.
struct OpenDatabase {
    let queue: DatabaseQueue
    let session: OutboxSession
    /// The totals of its rows when it was opened.
    let totals: OutboxTotals
    /// The file that was opened, wherever its path leads by now.
    let identity: FileSystem.Identity?
    /// The right to be the only outbox on the file, by whatever name it is opened.
    let lock: FileLock
}

/// Opens the database of an outbox: makes a missing file, judges an existing one, and moves a damaged one aside.
struct DatabaseOpener {
    /// The steps of SQLite's machine that checking a file may take: less than a second.
    private static let checkSteps: Int32 = 10_000_000

    let names: FileNames
    let options: OutboxOptions
    let clock: OutboxClock
    let lock: FileLock

    /// Opens the file, or makes it; one that is damaged is moved aside first.
    ///
    /// Numbers and places continue after those of `former`, for readers that know them.
    func open(after former: OutboxTotals) throws(OutboxError) -> OpenDatabase {
        do {
            return try self.openInPlace(after: former)
        } catch  where error.code == .corrupt {
            return try self.replace(because: error, after: former)
        } catch  where [.diskFull, .inputOutput].contains(error.code) && FileSystem.remove(self.names.reserve) {
            // There was no room for the files beside it.
            return try self.open(after: former)
        }
    }

    /// Moves a damaged file aside, and opens a new one with the rows that can be read.
    func replace(because error: OutboxError, after former: OutboxTotals) throws(OutboxError) -> OpenDatabase {
        let aside = FileNames(path: self.names.aside(at: self.clock))
        try FileSystem.move(self.names.path, to: aside.path)
        try FileSystem.move(self.names.log, to: aside.log)
        FileSystem.remove(self.names.index)
        try FileSystem.synchronizeFolder(of: self.names.path)
        self.options.logger.error(
            "The outbox's file is damaged, and was moved aside",
            metadata: ["path": "\(self.names.path)", "aside": "\(aside.path)", "error": "\(error)"])
        return try self.openInPlace(after: former, salvaging: aside)
    }

    /// Opens a file again after its path was found to lead elsewhere: with the rows of `database` if it was deleted.
    ///
    /// If another outbox is there, that one counts; anything else but an empty file is an error, and stays as it is.
    ///
    /// - Parameters:
    ///   - database: the open database of the deleted file, which is closed.
    ///   - former: the totals of its rows.
    ///   - willClose: called before the database is closed; after an error without it, the database is open.
    /// - Returns: the database of the file that is there now.
    /// - Throws: the failure of the system or the database.
    func restore(
        _ database: DatabaseQueue, after former: OutboxTotals, willClose: () -> Void
    ) throws(OutboxError) -> OpenDatabase {
        try self.names.checkKinds()
        if FileSystem.isEmpty(self.names.path) { try self.writeAnew(database) } else { try self.names.checkHeader() }
        willClose()
        // The log of a file that is gone stays when it is closed, and would be taken for that of the file that is there now.
        try? database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        try? database.close()
        return try self.openInPlace(after: former)
    }

    private func writeAnew(_ database: DatabaseQueue) throws(OutboxError) {
        FileSystem.remove(self.names.rescued)
        do {
            try database.writeWithoutTransaction {
                try $0.execute(sql: "VACUUM INTO ?", arguments: [self.names.rescued])
            }
        } catch {
            throw OutboxError(error, path: self.names.path)
        }
        // A log that was left would be taken for that of the new file.
        FileSystem.remove(self.names.log)
        FileSystem.remove(self.names.index)
        try FileSystem.move(self.names.rescued, to: self.names.path)
        try FileSystem.synchronizeFolder(of: self.names.path)
    }

    /// Opens the file, with the rows of a damaged one that was moved aside.
    private func openInPlace(
        after former: OutboxTotals, salvaging damaged: FileNames? = nil
    ) throws(OutboxError) -> OpenDatabase {
        let path = self.names.path
        let isEmpty = try FileSystem.create(path)
        let hasAccepted = self.lock.accepted ?? 0 > 0
        if isEmpty, hasAccepted { throw OutboxError(.corrupt, "'\(path)' is empty") }
        let lock = try FileLock(database: path)
        do {
            let queue = try DatabaseQueue(path: path, configuration: Self.configuration())
            let (session, totals) = try queue.writeWithoutTransaction { database in
                // Before anything is written: a file that is not ours stays as it is.
                try OutboxSchema.check(database, path: path)
                if damaged == nil {
                    try OutboxSchema.checkTables(database, path: path, mayBeNew: !hasAccepted)
                    self.reportMissing(database)
                    try self.checkPages(database)
                }
                self.lock.mark()
                try Self.configure(database)
                try OutboxSchema.migrate(database, onStep: self.options.onStep)
                if let damaged { try self.salvage(damaged, into: database) }
                let session = try OutboxSession(beginning: database, clock: self.clock, after: former)
                var table = OutboxTable(
                    database: database, session: session, options: self.options, totals: former)
                try table.count()
                // Without a key, they are looked at when they are loaded.
                if damaged != nil { try? table.endDamaged() }
                return (session, table.totals)
            }
            self.lock.accepted = totals.lastNumber
            for file in [path, self.names.log, self.names.index] { FileSystem.protect(file) }
            return OpenDatabase(
                queue: queue, session: session, totals: totals, identity: FileSystem.identity(path), lock: lock)
        } catch {
            throw OutboxError(error, path: path)
        }
    }

    /// Reads a file, also while another process has it open; nothing is changed.
    static func read<Answer>(
        _ path: String, cipher: (any OutboxCipher)?, _ body: (OutboxTable) throws -> Answer
    ) throws(OutboxError) -> Answer {
        try FileNames(path: path).checkKinds()
        do {
            let queue = try DatabaseQueue(path: path, configuration: Self.configuration(isReadOnly: true))
            return try queue.read { database in
                try OutboxSchema.check(database, path: path)
                return try body(
                    OutboxTable(
                        database: database, session: OutboxSession(reading: .system),
                        options: OutboxOptions { $0.cipher = cipher }, totals: .init()))
            }
        } catch {
            throw OutboxError(error, path: path)
        }
    }

    private static func configuration(isReadOnly: Bool = false) -> Configuration {
        var configuration = Configuration()
        configuration.label = "linkspan.outbox"
        configuration.readonly = isReadOnly
        // For readers of support tools, which finish soon.
        configuration.busyMode = .timeout(2)
        return configuration
    }

    /// Makes commits survive the loss of power, and readers not wait for them.
    private static func configure(_ database: Database) throws {
        try database.execute(
            sql: """
                PRAGMA auto_vacuum = INCREMENTAL;
                PRAGMA journal_mode = WAL;
                PRAGMA synchronous = FULL;
                PRAGMA fullfsync = ON;
                PRAGMA checkpoint_fullfsync = ON;
                PRAGMA wal_autocheckpoint = 8000;
                PRAGMA journal_size_limit = 1048576;
                PRAGMA cell_size_check = ON;
                PRAGMA trusted_schema = OFF;
                """)
        let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode")
        guard mode == "wal" else { throw OutboxError(.inputOutput, "the file system has no write-ahead log") }
    }
}

// MARK: - Damage

extension DatabaseOpener {
    /// Throws when tables and indexes do not agree; a file that takes too long is not checked to its end.
    private func checkPages(_ database: Database) throws {
        sqlite3_progress_handler(database.sqliteConnection, Self.checkSteps, { _ in 1 }, nil)
        defer { sqlite3_progress_handler(database.sqliteConnection, 0, nil, nil) }
        do {
            let findings = try String.fetchAll(database, sql: "PRAGMA integrity_check")
            if let damage = findings.first(where: { $0 != "ok" }) {
                throw OutboxError(.corrupt, "'\(self.names.path)': \(damage)")
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
        }
    }

    /// Reports deliveries that were accepted and are not in the file, because its log is damaged.
    private func reportMissing(_ database: Database) {
        guard let last = try? OutboxSession.last(in: database) else { return }
        let missing = self.lock.accepted.map { Int(clamping: $0) - Int(last) }
        guard missing.map({ $0 > 0 }) ?? self.lock.wasThere else { return }
        let aside = FileNames(path: self.names.aside(at: self.clock)).log
        let isKept = FileSystem.copy(self.names.log, to: aside)
        self.options.logger.error(
            missing == nil
                ? "Without the record in its lock's file it is unknown whether accepted deliveries are missing"
                : "Deliveries that were accepted are missing from the outbox's file",
            metadata: [
                "path": "\(self.names.path)", "count": "\(missing.map(\.description) ?? "unknown")",
                "log": "\(isKept ? aside : "none")",
            ])
    }

    /// Takes over the rows of a damaged file, as far as they can be read from either end of their tables.
    private func salvage(_ damaged: FileNames, into database: Database) throws {
        // SQLite would delete the log of an empty file.
        guard !FileSystem.isEmpty(damaged.path) else { return }
        defer {
            // Reading makes these.
            FileSystem.remove(damaged.index)
            if FileSystem.start(of: damaged.log, size: 1) == nil { FileSystem.remove(damaged.log) }
        }
        guard let old = try? DatabaseQueue(path: damaged.path, configuration: Self.configuration(isReadOnly: true))
        else { return }
        defer { try? old.close() }
        try database.inTransaction(.immediate) {
            try? old.read { old in
                for table in ["session", "delivery", "received_session", "received"]
                where try old.tableExists(table) {
                    try Self.takeOver(table, of: old, into: database)
                }
            }
            return .commit
        }
    }

    /// Takes over the rows of a table from its beginning, and after one that cannot be read from its end.
    private static func takeOver(_ table: String, of old: Database, into database: Database) throws {
        let columns = try database.columns(in: table)
        func insert(_ values: [String], _ arguments: StatementArguments) throws {
            let sql = "INSERT INTO \(table) VALUES (\(values.joined(separator: ", "))) ON CONFLICT DO NOTHING"
            try database.cachedStatement(sql: sql).execute(arguments: arguments)
        }
        let (marks, mended) = (columns.map { _ in "?" }, columns.map { Self.mended($0, of: table) })
        for order in ["ASC", "DESC"] {
            do {
                let rows = try Row.fetchCursor(old, sql: "SELECT * FROM \(table) NOT INDEXED ORDER BY 1 \(order)")
                while let row = try rows.next() {
                    let values = Array(row.databaseValues.prefix(columns.count))
                    let nulls = [DatabaseValue](repeating: .null, count: columns.count - values.count)
                    let row = StatementArguments(values + nulls)
                    do { try insert(marks, row) } catch { try? insert(mended, row) }
                }
                break
            } catch {
            }
        }
    }

    /// A value, converted to the type of its column: its row is kept, and ends as unreadable if the value mattered.
    private static func mended(_ column: ColumnInfo, of table: String) -> String {
        switch (table, column.name) {
        // Without it, the row is a gap.
        case ("received", "event"): "iif(? IS NULL, NULL, NULL)"
        // A row of an earlier version has none, and would be taken for whole.
        case ("delivery", "checksum"): "coalesce(CAST(? AS INTEGER), 0)"
        case _ where !column.isNotNull: "CAST(? AS \(column.type))"
        default: "coalesce(CAST(? AS \(column.type)), \(column.type == "TEXT" ? "hex(randomblob(8))" : "0"))"
        }
    }
}

/// The files of an outbox: its database, and those beside it.
struct FileNames {
    let path: String
    var lock: String { "\(self.path)-lock" }
    var reserve: String { "\(self.path)-reserve" }
    var log: String { "\(self.path)-wal" }
    var index: String { "\(self.path)-shm" }
    var rescued: String { "\(self.path)-rescued" }

    /// The path for what is damaged at some moment.
    func aside(at clock: OutboxClock) -> String { "\(self.path).damaged-\(clock.now().wall)" }

    /// Throws unless the path leads to an outbox, to the rest of one, or to nothing: anything else stays as it is.
    func check() throws(OutboxError) {
        try self.checkKinds()
        // Closing a database that this process has open would drop SQLite's locks on it.
        if !FileLock.isMarked(self.lock) { try self.checkHeader() }
    }

    /// Throws unless all files are regular ones or missing: a pipe would be waited for.
    func checkKinds() throws(OutboxError) {
        guard !self.path.utf8.contains(0) else { throw OutboxError(.notAccessible, "a path has no NUL character") }
        try FileSystem.checkKind(of: self.path, or: .notAnOutbox)
        for file in [self.lock, self.reserve, self.log, self.index, "\(self.path)-journal"] {
            try FileSystem.checkKind(of: file, or: .notAccessible)
        }
    }

    /// Throws when there is a file that does not begin as an outbox does.
    func checkHeader() throws(OutboxError) {
        guard let header = FileSystem.start(of: self.path, size: 105) else { return }
        // A database that was begun has no mark yet, and no table.
        let isBegun = header.starts(with: "SQLite format 3\0".utf8) && header.dropFirst(103).elementsEqual([0, 0])
        let id = header.dropFirst(68).prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard id == OutboxSchema.applicationID || isBegun && id == 0 else {
            throw OutboxError(.notAnOutbox, "'\(self.path)' is there, and is not an outbox")
        }
    }
}
#endif
