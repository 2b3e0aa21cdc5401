#if OUTBOX
internal import GRDB
internal import Linkspan
internal import Logging

/// The open file: the lock on it, its database, and the reserve beside it.
final class OutboxFile {
    /// The bytes of disk that are reserved for outcomes: more than the log, so that a checkpoint always fits.
    private static let reserveSize = 2 << 20
    /// The bytes of the log at which it is checkpointed into the database.
    private static let logSize = 1 << 20
    /// The approximate bytes that a transaction writes to the log besides its rows.
    private static let transactionSize = 4 * 4_096

    private let opener: DatabaseOpener
    private var database: OpenDatabase
    private var hasReserve = false
    private(set) var totals: OutboxTotals
    /// True after the database was closed and opening it again has failed.
    private(set) var isClosed = false
    /// The totals' `writtenBytes` at the last checkpoint.
    private var checkpointed = 0
    /// The reason why the log could not be written into the database.
    private var logFailure: OutboxError?

    private var names: FileNames { self.opener.names }
    private var options: OutboxOptions { self.opener.options }

    /// Opens the file, or makes it; one that is damaged is moved aside first.
    ///
    /// Numbers and places continue after those of `former`, for readers that know them.
    init(path: String, options: OutboxOptions, clock: OutboxClock, after former: OutboxTotals) throws(OutboxError) {
        let names = FileNames(path: path)
        try names.check()
        self.opener = DatabaseOpener(
            names: names, options: options, clock: clock, lock: try FileLock(path: names.lock))
        self.database = try self.opener.open(after: former)
        self.totals = self.database.totals
        // Writes the log of a killed process into the database before the reserve takes the room for that.
        self.truncateLog()
        self.takeReserve()
    }

    // Before the lock goes: closing writes the log into the database.
    deinit { try? self.database.queue.close() }
}

// MARK: - Transactions

extension OutboxFile {
    /// Performs calls in one transaction.
    ///
    /// - Returns: closures that answer the callers, for after the commit.
    func perform(_ calls: [OutboxCall]) throws(OutboxError) -> [() -> Void] {
        do {
            return try self.database.queue.writeWithoutTransaction { database in
                var table = self.table(database)
                var answers: [() -> Void] = []
                try database.inTransaction(.immediate) {
                    for call in calls { answers.append(try call.perform(&table)) }
                    if table.totals.lastNumber != self.totals.lastNumber { try table.recordLast() }
                    return .commit
                }
                if table.totals.lastNumber != self.totals.lastNumber {
                    self.opener.lock.accepted = table.totals.lastNumber
                }
                self.totals = table.totals
                self.totals.writtenBytes += Self.transactionSize
                return answers
            }
        } catch {
            throw OutboxError(error, path: self.names.path)
        }
    }

    /// The age of the oldest waiting delivery; nil when none waits.
    func oldestAge() -> Duration? {
        try? self.database.queue.read { database in
            var table = self.table(database)
            defer { self.totals.oldestNumber = table.totals.oldestNumber }
            return try table.oldestAge()
        }
    }

    private func table(_ database: Database) -> OutboxTable {
        OutboxTable(
            database: database, session: self.database.session, options: self.options, totals: self.totals)
    }
}

// MARK: - Room on the disk

extension OutboxFile {
    /// Why no delivery is accepted; nil when outcomes could be recorded on a full disk, too.
    var refusal: OutboxError? {
        if self.hasReserve { return self.logFailure }
        return OutboxError(.diskFull, "'\(self.names.path)': no disk space for its reserve file")
    }

    /// Makes sure that outcomes could still be recorded on a full disk, if there is room.
    func ensureReserve() {
        // The reserve would not suffice to write a longer log into the database.
        if self.logFailure != nil { self.truncateLog() }
        guard self.logFailure == nil else { return }
        if !self.hasReserve { self.takeReserve() }
        guard !self.hasReserve else { return }
        // Pages of erased rows may be enough.
        try? self.database.queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA incremental_vacuum") }
        self.truncateLog()
        self.takeReserve()
    }

    private func takeReserve() {
        self.hasReserve = FileSystem.fill(self.names.reserve, size: Self.reserveSize)
    }

    /// Makes room for outcomes on a full disk: deletes the reserve, and empties the log.
    func makeRoom() {
        if self.hasReserve {
            self.hasReserve = !FileSystem.remove(self.names.reserve)
            self.options.onStep?(OutboxStep.releasingReserve.rawValue)
        }
        self.truncateLog()
    }

    /// Writes the log into the database when it has grown: after a transaction's answers, so that nobody waits for it.
    func checkpoint() {
        let written = self.totals.writtenBytes - self.checkpointed
        guard written > Self.logSize else { return }
        self.options.onStep?(OutboxStep.checkpointing.rawValue)
        self.checkpoint("PASSIVE")
    }

    /// Writes the log into the database, and gives its room back.
    private func truncateLog() { self.checkpoint("TRUNCATE") }

    private func checkpoint(_ kind: String) {
        do {
            try self.database.queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(\(kind))") }
            self.checkpointed = self.totals.writtenBytes
            self.logFailure = nil
        } catch {
            self.logFailure = OutboxError(error, path: self.names.path)
        }
    }
}

// MARK: - Damaged and deleted files

extension OutboxFile {
    /// Moves the damaged file aside and goes on with a new one.
    func startAnew(because error: OutboxError) throws(OutboxError) {
        try? self.database.queue.close()
        self.goOn(with: try self.opener.replace(because: error, after: self.totals))
    }

    /// Whether the path still leads to the file that is open.
    var isInPlace: Bool { FileSystem.identity(self.names.path) == self.database.identity }

    /// Puts the rows into a new file, because the open one was deleted and would be gone with the process.
    ///
    /// If another outbox is there, that one counts; with anything else there but an empty file, the open one goes on.
    ///
    /// - Throws: the failure of the system or the database; the file stays open unless ``isClosed`` is true.
    func restore() throws(OutboxError) {
        self.options.logger.error("The outbox's file was deleted or replaced", metadata: ["path": "\(self.names.path)"])
        let database = try self.opener.restore(self.database.queue, after: self.totals) { self.isClosed = true }
        self.goOn(with: database)
    }

    private func goOn(with database: OpenDatabase) {
        self.database = database
        self.totals = database.totals
        self.checkpointed = self.totals.writtenBytes
        self.logFailure = nil
        self.isClosed = false
    }
}
#endif
