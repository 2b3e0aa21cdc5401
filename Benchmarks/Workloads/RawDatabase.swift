#if OUTBOX
import Foundation
import GRDBSQLite

/// A table like an outbox's, filled by SQLite's own functions: the floor that an outbox is measured by.
final class RawDatabase {
    private var database: OpaquePointer?
    private var statement: OpaquePointer?

    init(_ path: String) throws {
        guard sqlite3_open(path, &self.database) == SQLITE_OK else { throw CocoaError(.fileNoSuchFile) }
        let tables = """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            CREATE TABLE row (number INTEGER PRIMARY KEY, key TEXT, text TEXT);
            CREATE UNIQUE INDEX row_key ON row (key);
            """
        sqlite3_exec(self.database, tables, nil, nil, nil)
        sqlite3_prepare_v2(self.database, "INSERT INTO row VALUES (?, ?, ?)", -1, &self.statement, nil)
    }

    deinit {
        sqlite3_finalize(self.statement)
        sqlite3_close(self.database)
    }

    /// Inserts rows in one transaction.
    func insert(_ numbers: Range<Int>, _ text: String) {
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        sqlite3_exec(self.database, "BEGIN IMMEDIATE", nil, nil, nil)
        for number in numbers {
            sqlite3_bind_int64(self.statement, 1, Int64(number))
            sqlite3_bind_text(self.statement, 2, "key \(number)", -1, transient)
            sqlite3_bind_text(self.statement, 3, text, -1, transient)
            sqlite3_step(self.statement)
            sqlite3_reset(self.statement)
        }
        sqlite3_exec(self.database, "COMMIT", nil, nil, nil)
    }
}

/// The simplest commits of many callers at once: the first that finds no commit under way commits what all have added.
final class GroupedCommits: @unchecked Sendable {
    private let condition = NSCondition()
    private let database: RawDatabase
    private let text: String
    private var added = 0
    private var committed = 0
    private var isCommitting = false

    init(_ database: RawDatabase, text: String) {
        self.database = database
        self.text = text
    }

    /// Adds a row, and returns once it is committed.
    func insert() {
        self.condition.lock()
        let number = self.added
        self.added += 1
        while self.committed <= number {
            guard !self.isCommitting else {
                self.condition.wait()
                continue
            }
            self.isCommitting = true
            let rows = self.committed..<self.added
            self.condition.unlock()
            self.database.insert(rows, self.text)
            self.condition.lock()
            self.committed = rows.upperBound
            self.isCommitting = false
            self.condition.broadcast()
        }
        self.condition.unlock()
    }
}
#endif
