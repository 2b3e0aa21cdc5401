#if Outbox
internal import GRDB
internal import Linkspan
internal import Logging

/// The open file: the lock on it, its database, and the reserve beside it.
final class OutboxFile {
    /// The files beside a database, in the order of their names.
    private struct Names {
        let path: String
        var lock: String { "\(self.path)-lock" }
        var reserve: String { "\(self.path)-reserve" }
        var log: String { "\(self.path)-wal" }
        var index: String { "\(self.path)-shm" }
        var rescued: String { "\(self.path)-rescued" }
    }

    /// The bytes of disk that are reserved for outcomes: more than the log, so that a checkpoint always fits.
    private static let reserveSize = 2 << 20
    /// The bytes of the log at which it is checkpointed into the database.
    private static let logSize = 1 << 20
    /// About what a transaction writes to the log beside its rows.
    private static let transactionSize = 4 * 4_096

    private let names: Names
    private let options: OutboxOptions
    private let clock: OutboxClock
    private let lock: FileLock
    private var database: DatabaseQueue
    private var session: OutboxSession
    private var identity: FileSystem.Identity?
    private var hasReserve: Bool
    private(set) var totals: OutboxTotals
    /// True after the database was closed and opening it again has failed.
    private(set) var isClosed = false
    /// The totals' `writtenBytes` at the last checkpoint.
    private var checkpointed = 0
    /// The reason why the log could not be written into the database.
    private var logFailure: OutboxError?

    /// Opens the file, or makes it; one that is damaged is moved aside first.
    ///
    /// Numbers and places go on behind those of `former`, for readers that know them.
    init(path: String, options: OutboxOptions, clock: OutboxClock, after former: OutboxTotals) throws(OutboxError) {
        self.names = Names(path: path)
        self.options = options
        self.clock = clock
        self.lock = try FileLock(path: self.names.lock)
        do {
            (self.database, self.session, self.totals) = try Self.open(self.names, options, clock, after: former)
        } catch  where error.code == .corrupt {
            try Self.moveAside(self.names, clock, options, because: error)
            (self.database, self.session, self.totals) = try Self.open(self.names, options, clock, after: former)
        }
        self.identity = FileSystem.identity(path)
        for file in [path, self.names.log, self.names.index] { FileSystem.protect(file) }
        self.hasReserve = false
        // What a killed process left in the log, before the reserve takes the room for it.
        self.truncateLog()
        self.hasReserve = FileSystem.fill(self.names.reserve, size: Self.reserveSize)
    }

    // Before the lock goes: closing writes the log into the database.
    deinit { try? self.database.close() }
}

// MARK: - Transactions

extension OutboxFile {
    /// Performs calls in one transaction.
    ///
    /// - Returns: what tells the callers, now that it is committed.
    func perform(_ calls: [OutboxCall]) throws(OutboxError) -> [() -> Void] {
        do {
            return try self.database.writeWithoutTransaction { database in
                var table = OutboxTable(
                    database: database, session: self.session, options: self.options, totals: self.totals)
                var answers: [() -> Void] = []
                try database.inTransaction(.immediate) {
                    for call in calls { answers.append(try call.perform(&table)) }
                    return .commit
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
        try? self.database.read { database in
            var table = OutboxTable(
                database: database, session: self.session, options: self.options, totals: self.totals)
            defer { self.totals.oldestNumber = table.totals.oldestNumber }
            return try table.oldestAge()
        }
    }

    /// Makes sure that outcomes could still be recorded on a full disk.
    ///
    /// - Returns: why not; then no delivery is accepted.
    func ensureReserve() -> OutboxError? {
        // What would be added to the log now, the reserve could not bring into the database.
        if self.logFailure != nil { self.truncateLog() }
        if let failure = self.logFailure { return failure }
        if !self.hasReserve { self.hasReserve = FileSystem.fill(self.names.reserve, size: Self.reserveSize) }
        if !self.hasReserve {
            // What has been erased may be enough.
            try? self.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA incremental_vacuum") }
            self.truncateLog()
            self.hasReserve = FileSystem.fill(self.names.reserve, size: Self.reserveSize)
        }
        return self.hasReserve
            ? nil : OutboxError(.diskFull, "'\(self.names.path)': no disk space for its reserve file")
    }

    /// Makes room for outcomes on a full disk: gives up the reserve, and has the log begin anew, whose room is then free.
    func makeRoom() {
        if self.hasReserve {
            FileSystem.remove(self.names.reserve)
            self.hasReserve = false
            self.options.onStep?(.releasingReserve)
        }
        self.truncateLog()
    }

    /// Writes the log into the database when it has grown: behind a transaction's answers, so that nobody waits for it.
    func checkpoint() {
        let written = self.totals.writtenBytes - self.checkpointed
        guard written > Self.logSize else { return }
        self.options.onStep?(.checkpointing)
        self.checkpoint("PASSIVE")
    }

    /// Writes the log into the database, and gives its room back.
    private func truncateLog() { self.checkpoint("TRUNCATE") }

    private func checkpoint(_ kind: String) {
        do {
            try self.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(\(kind))") }
            self.checkpointed = self.totals.writtenBytes
            self.logFailure = nil
        } catch {
            self.logFailure = OutboxError(error, path: self.names.path)
        }
    }
}

// MARK: - Accidents

extension OutboxFile {
    /// Moves the damaged file aside and goes on with a new one.
    func startAnew(because error: OutboxError) throws(OutboxError) {
        self.isClosed = true
        try? self.database.close()
        try Self.moveAside(self.names, self.clock, self.options, because: error)
        try self.reopen()
    }

    /// Whether the path still leads to the file that is open.
    var isInPlace: Bool { FileSystem.identity(self.names.path) == self.identity }

    /// Puts the rows into a new file, because the open one was deleted and would be gone with the process.
    ///
    /// If another file is there, that one counts.
    ///
    /// - Throws: what keeps it from doing so; the open file goes on unless ``isClosed`` says otherwise.
    func restore() throws(OutboxError) {
        self.options.logger.error("The outbox's file was deleted or replaced", metadata: ["path": "\(self.names.path)"])
        if FileSystem.identity(self.names.path) == nil { try self.writeAnew() }
        self.isClosed = true
        try? self.database.close()
        try self.reopen()
    }

    private func writeAnew() throws(OutboxError) {
        FileSystem.remove(self.names.rescued)
        do {
            try self.database.writeWithoutTransaction { [names] in
                try $0.execute(sql: "VACUUM INTO ?", arguments: [names.rescued])
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

    private func reopen() throws(OutboxError) {
        (self.database, self.session, self.totals) = try Self.open(
            self.names, self.options, self.clock, after: self.totals)
        self.identity = FileSystem.identity(self.names.path)
        self.checkpointed = self.totals.writtenBytes
        self.logFailure = nil
        self.isClosed = false
    }

    private static func moveAside(
        _ names: Names, _ clock: OutboxClock, _ options: OutboxOptions, because error: OutboxError
    ) throws(OutboxError) {
        let aside = "\(names.path).damaged-\(clock.now().wall)"
        try FileSystem.move(names.path, to: aside)
        try FileSystem.move(names.log, to: "\(aside)-wal")
        FileSystem.remove(names.index)
        try FileSystem.synchronizeFolder(of: names.path)
        options.logger.error(
            "The outbox's file is damaged, and was moved aside",
            metadata: ["path": "\(names.path)", "aside": "\(aside)", "error": "\(error)"])
    }
}

// MARK: - Opening

extension OutboxFile {
    private static func open(
        _ names: Names, _ options: OutboxOptions, _ clock: OutboxClock, after former: OutboxTotals
    ) throws(OutboxError) -> (DatabaseQueue, OutboxSession, OutboxTotals) {
        try FileSystem.create(names.path)
        do {
            var configuration = Configuration()
            configuration.label = "linkspan.outbox"
            // For readers of support tools, which finish soon.
            configuration.busyMode = .timeout(2)
            let queue = try DatabaseQueue(path: names.path, configuration: configuration)
            let (session, totals) = try queue.writeWithoutTransaction { database in
                // Before anything is written: a file that is not ours stays as it is.
                try OutboxSchema.check(database, path: names.path)
                try self.configure(database)
                try OutboxSchema.migrate(database, onStep: options.onStep)
                let session = try OutboxSession(beginning: database, clock: clock, after: former)
                var table = OutboxTable(database: database, session: session, options: options, totals: former)
                try table.count()
                return (session, table.totals)
            }
            return (queue, session, totals)
        } catch {
            throw OutboxError(error, path: names.path)
        }
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

/// One opening of the file.
struct OutboxSession {
    /// The bits of a place that count within an opening; those above are the opening's number.
    private static let placeBits = 36
    /// The last number of an opening that leaves places for it.
    private static let maximum: Int64 = 1 << 25

    let number: Int64
    let keys: KeyCounter
    let clock: OutboxClock

    /// Looks at a file without opening it for deliveries.
    init(reading clock: OutboxClock) {
        self.number = 0
        self.keys = KeyCounter(producer: "", session: "")
        self.clock = clock
    }

    /// The place behind which those of this opening are.
    ///
    /// Places rise over all openings, of all processes, also when no entry is left: a reader that waits behind one finds
    /// those that come later.
    var firstPlace: Int64 { self.number << Self.placeBits }

    /// Begins an opening, with a number behind that of the one in which `former` was counted.
    init(beginning database: Database, clock: OutboxClock, after former: OutboxTotals) throws {
        let token = Token.make()
        var number = max(former.lastEnded, former.lastReceived) >> Self.placeBits
        try database.inTransaction(.immediate) {
            // Nothing but damage makes one of these.
            try database.execute(sql: "DELETE FROM session WHERE number > ?", arguments: [Self.maximum])
            number = max(number, try Int64.fetchOne(database, sql: "SELECT max(number) FROM session") ?? 0) + 1
            try database.execute(
                sql: "INSERT INTO session (number, token, start) VALUES (?, ?, ?)",
                arguments: [number, token, clock.start])
            // Rows are that old only if nobody has sent them for a thousand openings; then the wall clock has to do.
            try database.execute(
                sql: "DELETE FROM session WHERE number <= ?", arguments: [number - 1_000])
            return .commit
        }
        self.number = number
        let producer = try String.fetchOne(database, sql: "SELECT id FROM producer") ?? ""
        self.keys = KeyCounter(producer: producer, session: token)
        self.clock = clock
    }
}
#endif
