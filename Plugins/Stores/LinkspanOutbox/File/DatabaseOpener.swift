#if OUTBOX
internal import GRDB
internal import Logging

/// The open database of an outbox.
struct OpenDatabase {
    let queue: DatabaseQueue
    let session: OutboxSession
    /// The totals of its rows when it was opened.
    let totals: OutboxTotals
    /// The file that was opened, wherever its path leads by now.
    let identity: FileSystem.Identity?
}

/// Opens the database of an outbox: makes a missing file, judges an existing one, and moves a damaged one aside.
struct DatabaseOpener {
    let names: FileNames
    let options: OutboxOptions
    let clock: OutboxClock

    /// Opens the file, or makes it; one that is damaged is moved aside first.
    ///
    /// Numbers and places continue after those of `former`, for readers that know them.
    func open(after former: OutboxTotals) throws(OutboxError) -> OpenDatabase {
        do {
            return try self.openInPlace(after: former)
        } catch  where error.code == .corrupt {
            return try self.replace(because: error, after: former)
        }
    }

    /// Moves a damaged file aside, and opens a new one.
    func replace(because error: OutboxError, after former: OutboxTotals) throws(OutboxError) -> OpenDatabase {
        let aside = "\(self.names.path).damaged-\(self.clock.now().wall)"
        try FileSystem.move(self.names.path, to: aside)
        try FileSystem.move(self.names.log, to: "\(aside)-wal")
        FileSystem.remove(self.names.index)
        try FileSystem.synchronizeFolder(of: self.names.path)
        self.options.logger.error(
            "The outbox's file is damaged, and was moved aside",
            metadata: ["path": "\(self.names.path)", "aside": "\(aside)", "error": "\(error)"])
        return try self.openInPlace(after: former)
    }

    /// Opens a file again after its path was found to lead elsewhere: with the rows of `database` if it was deleted.
    ///
    /// If another file is there, that one counts.
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
        if FileSystem.identity(self.names.path) == nil { try self.writeAnew(database) }
        willClose()
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

    private func openInPlace(after former: OutboxTotals) throws(OutboxError) -> OpenDatabase {
        let path = self.names.path
        try FileSystem.create(path)
        do {
            let queue = try DatabaseQueue(path: path, configuration: Self.configuration())
            let (session, totals) = try queue.writeWithoutTransaction { database in
                // Before anything is written: a file that is not ours stays as it is.
                try OutboxSchema.check(database, path: path)
                try Self.configure(database)
                try OutboxSchema.migrate(database, onStep: self.options.onStep)
                let session = try OutboxSession(beginning: database, clock: self.clock, after: former)
                var table = OutboxTable(
                    database: database, session: session, options: self.options, totals: former)
                try table.count()
                return (session, table.totals)
            }
            for file in [path, self.names.log, self.names.index] { FileSystem.protect(file) }
            return OpenDatabase(
                queue: queue, session: session, totals: totals, identity: FileSystem.identity(path))
        } catch {
            throw OutboxError(error, path: path)
        }
    }

    /// Reads a file, also while another process has it open; nothing is changed.
    static func read<Answer>(
        _ path: String, cipher: (any OutboxCipher)?, _ body: (OutboxTable) throws -> Answer
    ) throws(OutboxError) -> Answer {
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

/// The files of an outbox: its database, and those beside it.
struct FileNames {
    let path: String
    var lock: String { "\(self.path)-lock" }
    var reserve: String { "\(self.path)-reserve" }
    var log: String { "\(self.path)-wal" }
    var index: String { "\(self.path)-shm" }
    var rescued: String { "\(self.path)-rescued" }
}
#endif
