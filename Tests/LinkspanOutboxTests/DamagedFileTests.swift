#if OUTBOX && Metrics
internal import Foundation
internal import Linkspan
@testable import LinkspanOutbox
internal import TestSupport
internal import Testing

@Suite("Damaged files of an outbox")
struct DamagedFileTests {
    private let folder: Folder

    init() throws { self.folder = try Folder() }

    private var asides: [String] { self.folder.files.filter { $0.contains("damaged") } }

    private func change(_ name: String, at offset: Int, to bytes: [UInt8]) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: "\(self.folder.path)/\(name)"))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }

    /// Keeps three deliveries, and changes the file behind them.
    private func keepRows(_ damage: () throws -> Void) throws {
        let first = Driver(self.folder.outbox)
        for key in ["a", "b", "c"] { _ = try first.keep(delivery(key)).get() }
        first.shut()
        try damage()
    }

    /// Expects that the damaged file is moved aside once, with a report, and that its rows are sent.
    private func expectReplacement(keeping keys: [String] = ["a", "b", "c"]) throws {
        let driver = Driver(self.folder.outbox)
        #expect(try driver.waiting() == keys)
        #expect(driver.reports.first?.message == "The outbox's file is damaged, and was moved aside")
        _ = try driver.keep(delivery("d")).get()
        driver.shut()
        #expect(self.asides.count == 1)
        let next = Driver(self.folder.outbox)
        #expect(try next.waiting() == keys + ["d"])
        #expect(next.reports.isEmpty)
        #expect(self.asides.count == 1)
    }

    // Offsets in the header of a database.
    @Test(
        arguments: [
            (60, [0xFF]), (60, [0x80, 0, 0, 0]), (63, [1]), (63, [0]), (18, [3]), (68, [0x4D]), (68, [0xB3]),
            (71, [0]),
        ] as [(Int, [UInt8])])
    func `a file whose header is damaged is replaced, and its rows are taken over`(
        _ offset: Int, _ bytes: [UInt8]
    ) throws {
        try self.keepRows { try self.change("outbox.sqlite", at: offset, to: bytes) }
        try self.expectReplacement()
    }

    @Test(arguments: [(19, 3), (47, 9), (0, 0), (17, 7)] as [(Int, UInt8)])
    func `a file that SQLite cannot read at all is replaced`(_ offset: Int, _ byte: UInt8) throws {
        try self.keepRows { try self.change("outbox.sqlite", at: offset, to: [byte]) }
        try self.expectReplacement(keeping: [])
    }

    @Test(arguments: [("'event '", "'evenx '"), ("'refusals'", "'refusalx'"), ("' STRICT'", "''")])
    func `a file whose tables are described wrongly goes on`(_ text: String, _ other: String) throws {
        try self.keepRows {
            try Database.execute(
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = replace(sql, \(text), \(other)) WHERE name = 'delivery';
                """, in: self.folder.outbox)
        }
        let driver = Driver(self.folder.outbox)
        _ = driver.keep(delivery("d"))
        #expect(try Set(driver.waiting()).isSuperset(of: ["a", "b", "c"]))
        let next = Driver(self.folder.outbox)
        driver.shut()
        #expect(try next.waiting().prefix(3) == ["a", "b", "c"])
        _ = try next.keep(delivery("e")).get()
    }

    /// Takes the row `b` out of an index.
    private func hide(in index: String, _ condition: String) throws {
        let schema = { (change: String) in
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = \(change) WHERE name = '\(index)';"
        }
        for sql in [schema("sql || '\(condition)'"), "REINDEX \(index)", schema("replace(sql, '\(condition)', '')")] {
            try Database.execute(sql, in: self.folder.outbox)
        }
    }

    @Test(arguments: [("delivery_key", " WHERE key <> char(98)"), ("delivery_waiting", " AND key <> char(98)")])
    func `a row that an index does not have is sent once`(_ index: String, _ condition: String) throws {
        try self.keepRows { try self.hide(in: index, condition) }
        try self.expectReplacement()
        let driver = Driver(self.folder.outbox)
        driver.end(delivery("b"), .success(.empty))
        #expect(try driver.waiting() == ["a", "c", "d"])
    }

    @Test
    func `a row that is lost to an index of the open file ends all the same`() throws {
        let driver = Driver(self.folder.outbox)
        for key in ["a", "b", "c"] { _ = try driver.keep(delivery(key)).get() }
        try self.hide(in: "delivery_key", " WHERE key <> char(98)")
        driver.end(delivery("b"), .success(.empty))
        #expect(try driver.waiting() == ["a", "c"])
        #expect(self.asides.isEmpty)
    }

    @Test
    func `rows of a replaced file that were altered end, those that no account asks for included`() async throws {
        try self.keepRows {
            try Database.execute("UPDATE delivery SET account = '@nobody' WHERE key = 'b'", in: self.folder.outbox)
            try self.change("outbox.sqlite", at: 60, to: [0xFF])
        }
        try self.expectReplacement(keeping: ["a", "c"])
        #expect(try await Driver(self.folder.outbox).outbox.figures(account: "nobody").outcomes == 1)
    }

    // SQLite takes a file of one byte for an empty one.
    @Test(arguments: [0, 1])
    func `an emptied file is reported, and its log is kept`(size: Int) throws {
        try self.keepRows {
            try Data(count: size).write(to: URL(fileURLWithPath: self.folder.outbox))
            try Data(count: 100).write(to: URL(fileURLWithPath: "\(self.folder.outbox)-wal"))
        }
        let driver = Driver(self.folder.outbox)
        #expect(try driver.waiting() == [])
        #expect(driver.reports.count == 1)
        #expect(self.asides.count == 2)
    }

    @Test
    func `an empty database in the place of one with deliveries is reported`() throws {
        try self.keepRows {
            try FileManager.default.removeItem(atPath: self.folder.outbox)
            try Database.execute("PRAGMA journal_mode = WAL", in: self.folder.outbox)
        }
        try self.expectReplacement(keeping: [])
    }

    @Test(
        arguments: [
            "CREATE TRIGGER t BEFORE INSERT ON delivery BEGIN SELECT raise(IGNORE); END",
            "CREATE TRIGGER t AFTER INSERT ON delivery BEGIN DELETE FROM delivery; END",
            "CREATE TRIGGER t BEFORE UPDATE ON delivery BEGIN SELECT raise(IGNORE); END",
            "CREATE TRIGGER t BEFORE INSERT ON session BEGIN SELECT raise(ABORT, 'no'); END",
            "CREATE UNIQUE INDEX i ON delivery (compressible)  WHERE key = 'd'",
            "ALTER TABLE delivery ADD COLUMN more TEXT DEFAULT ''",
        ])
    func `a file whose tables something else acts on is replaced, and its rows are taken over`(_ sql: String) throws {
        try self.keepRows { try Database.execute(sql, in: self.folder.outbox) }
        try self.expectReplacement()
    }

    @Test
    func `a view without end in the place of a table is not read`() throws {
        try self.keepRows {
            try Database.execute(
                """
                DROP TABLE delivery;
                CREATE VIEW delivery AS WITH RECURSIVE c(number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM c)
                SELECT number FROM c;
                """, in: self.folder.outbox)
        }
        try self.expectReplacement(keeping: [])
    }

    @Test
    func `a row that a trigger of the open file drops is not taken for accepted`() throws {
        let driver = Driver(self.folder.outbox)
        _ = try driver.keep(delivery("a")).get()
        try Database.execute(
            "CREATE TRIGGER t BEFORE INSERT ON delivery BEGIN SELECT raise(IGNORE); END", in: self.folder.outbox)
        _ = try driver.keep(delivery("b")).get()
        #expect(try driver.waiting() == ["a", "b"])
        #expect(self.asides.count == 1)
    }

    // MARK: The log

    /// Leaves the files of a process that was killed after it had kept ten deliveries.
    private func kill(_ driver: Driver, _ other: Folder) throws {
        for number in 1...10 { _ = try driver.keep(delivery("\(number)")).get() }
        for name in self.folder.files where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(atPath: "\(self.folder.path)/\(name)", toPath: "\(other.path)/\(name)")
        }
    }

    @Test
    func `rows that a damaged log has lost are reported and counted once, and the log is kept`() throws {
        let (driver, copy) = (Driver(self.folder.outbox), try Folder())
        try self.kill(driver, copy)
        let log = URL(fileURLWithPath: "\(copy.outbox)-wal")
        var bytes = try Data(contentsOf: log)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: log)
        let next = Driver(copy.outbox)
        let left = try next.waiting()
        #expect((1..<10).contains(left.count))
        let report = try #require(next.reports.first)
        #expect(report.message == "Deliveries that were accepted are missing from the outbox's file")
        #expect(report.metadata["count"] == "\(10 - left.count)")
        let aside = try #require(report.metadata["log"])
        #expect(try Data(contentsOf: URL(fileURLWithPath: aside)) == bytes)
        next.shut()
        let last = Driver(copy.outbox)
        #expect(try last.waiting() == left)
        #expect(last.reports.isEmpty)
    }

    @Test
    func `a lock's file whose record is damaged is reported once`() throws {
        try self.keepRows { try self.change("outbox.sqlite-lock", at: 9, to: [7]) }
        let driver = Driver(self.folder.outbox)
        #expect(try driver.waiting() == ["a", "b", "c"])
        #expect(driver.reports.map { $0.metadata["count"] } == ["unknown"])
        driver.shut()
        let next = Driver(self.folder.outbox)
        #expect(try next.waiting() == ["a", "b", "c"])
        #expect(next.reports.isEmpty)
    }

    @Test
    func `a lock's file that was deleted is no loss, and none is reported`() throws {
        try self.keepRows { try FileManager.default.removeItem(atPath: "\(self.folder.outbox)-lock") }
        let driver = Driver(self.folder.outbox)
        #expect(try driver.waiting() == ["a", "b", "c"])
        #expect(driver.reports.isEmpty)
    }

    @Test
    func `nothing is reported of a log that is whole, nor of rows that were confirmed`() throws {
        let (driver, copy) = (Driver(self.folder.outbox), try Folder())
        try self.kill(driver, copy)
        for number in 1...10 {
            driver.end(delivery("\(number)"), .success(.empty))
            #expect(driver.confirm("\(number)"))
        }
        driver.shut()
        for folder in [self.folder, copy] {
            let next = Driver(folder.outbox)
            #expect(try next.waiting().count == (folder === copy ? 10 : 0))
            #expect(try next.keep(delivery("new")).get().number == 11)
            #expect(next.reports.isEmpty)
        }
    }
}
#endif
