#if OUTBOX && Metrics
internal import Foundation
internal import Linkspan
internal import LinkspanRuntime
@_spi(OutboxSteps) @testable import LinkspanOutbox
internal import TestSupport
internal import Testing

@Suite("The file of an outbox")
struct OutboxFileTests {
    private let folder: Folder

    init() throws { self.folder = try Folder() }

    private func driver(_ configure: (inout OutboxOptions) -> Void = { _ in }) -> Driver {
        Driver(self.folder.outbox, configure)
    }

    @Test
    func `a second outbox on a file gets a typed error, until the first is closed`() async throws {
        let first = self.driver()
        _ = try first.keep(delivery("k")).get()
        let second = self.driver()
        #expect(second.keep(delivery("l")).outboxCode == .inUse)
        #expect(second.open().outboxCode == .inUse)
        let error = await #expect(throws: OutboxError.self) { try await second.outbox.figures() }
        #expect(error?.code == .inUse)
        await first.outbox.close()
        #expect(try second.waiting() == ["k"])
        #expect(first.keep(delivery("m")).outboxCode == .closed)
    }

    @Test
    func `an outbox that waits for the file goes on when it is free`() async throws {
        let first = self.driver()
        _ = try first.keep(delivery("k")).get()
        let second = Outbox(path: self.folder.outbox) { $0.waitsWhenInUse = true }
        async let figures = second.figures()
        await first.outbox.close()
        #expect(try await figures.waiting == 1)
        await second.close()
    }

    @Test
    func `a suspended outbox has no lock on the file, and its calls wait until it goes on`() async throws {
        let driver = self.driver()
        _ = try driver.keep(delivery("a")).get()
        await driver.outbox.suspend()
        let kept = Lock(false)
        driver.together { outbox in outbox.keep(delivery("b")) { _ in kept.withLock { $0 = true } } }
        #expect(kept.withLock { !$0 })
        let other = self.driver()
        #expect(try other.waiting() == ["a"])
        other.shut()
        driver.outbox.resume()
        #expect(kept.withLock { $0 })
        #expect(try driver.waiting() == ["a", "b"])
    }

    @Test
    func `only the owner can read the files, one that was laxer included`() throws {
        for mode in [nil, 0o644, 0o640, 0o601] {
            if let mode {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: self.folder.outbox)
            }
            let driver = self.driver()
            _ = try driver.keep(delivery("k")).get()
            for file in self.folder.files {
                #expect(try self.folder.mode("\(self.folder.path)/\(file)") == 0o600, "\(file)")
            }
            #expect(self.folder.files.count == 5)
        }
    }

    @Test
    func `a newer file, and one of something else, are refused and stay as they are`() throws {
        for (sql, code) in [
            ("PRAGMA user_version = 999", OutboxError.Code.newerSchema), ("PRAGMA application_id = 5", .notAnOutbox),
        ] {
            let folder = try Folder()
            _ = try Driver(folder.outbox).keep(delivery("k")).get()
            try Database.execute(sql, in: folder.outbox)
            let before = try Data(contentsOf: URL(fileURLWithPath: folder.outbox))
            #expect(Driver(folder.outbox).keep(delivery("l")).outboxCode == code)
            let error = #expect(throws: OutboxError.self) { try Outbox.entries(at: folder.outbox) }
            #expect(error?.code == code)
            #expect(try Data(contentsOf: URL(fileURLWithPath: folder.outbox)) == before)
        }
    }

    @Test
    func `an outbox's file that is no database any more is moved aside, and a new one is begun`() throws {
        _ = try self.driver().keep(delivery("a")).get()
        let garbage = Data("not a database at all".utf8)
        try garbage.write(to: URL(fileURLWithPath: self.folder.outbox))
        let driver = self.driver()
        #expect(try driver.keep(delivery("k")).get().number == 1)
        let aside = try #require(self.folder.files.first { $0.contains("damaged") })
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(self.folder.path)/\(aside)")) == garbage)
        #expect(try driver.waiting() == ["k"])
    }

    @Test(arguments: 68..<72)
    func `one byte of the mark that is wrong is damage`(place: Int) throws {
        _ = try self.driver().keep(delivery("a")).get()
        self.driver().shut()
        let url = URL(fileURLWithPath: self.folder.outbox)
        var file = try Data(contentsOf: url)
        file[place] ^= 0xFF
        try file.write(to: url)
        _ = try self.driver().keep(delivery("k")).get()
        #expect(self.folder.files.contains { $0.contains("damaged") })
    }

    @Test
    func `a file that was never an outbox is refused and stays as it is, and nothing is put beside it`() throws {
        let text = Data("# A text\n\n\(String(repeating: "with lines ", count: 20))".utf8)
        let kinds: [(OutboxError.Code, (String) throws -> Void)] = [
            (.notAnOutbox, { try text.write(to: URL(fileURLWithPath: $0)) }),
            (.notAnOutbox, { try Data("short".utf8).write(to: URL(fileURLWithPath: $0)) }),
            (.notAnOutbox, { try Database.execute("CREATE TABLE note (text)", in: $0) }),
            (.notAnOutbox, { try Database.execute("PRAGMA application_id = 7; CREATE TABLE note (text)", in: $0) }),
            (.notAnOutbox, { try FileManager.default.createDirectory(atPath: $0, withIntermediateDirectories: false) }),
            (.notAnOutbox, { path in #expect(mkfifo(path, 0o600) == 0) }),
            (
                .notAccessible,
                {
                    try text.write(to: URL(fileURLWithPath: "\($0).md"))
                    try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: "\($0).md")
                }
            ),
        ]
        for (code, make) in kinds {
            let folder = try Folder()
            try make(folder.outbox)
            let before = folder.files
            let bytes = Self.bytes(folder.outbox)
            for _ in 0..<2 {
                let driver = Driver(folder.outbox)
                #expect(driver.keep(delivery("k")).outboxCode == code)
                #expect(driver.outbox.summary?.contains("\(code.rawValue): '\(folder.outbox)'") == true)
            }
            #expect(folder.files == before)
            #expect(bytes == nil || Self.bytes(folder.outbox) == bytes)
        }
    }

    private static func bytes(_ path: String) -> Data? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard attributes?[.type] as? FileAttributeType == .typeRegular else { return nil }
        return try? Data(contentsOf: URL(fileURLWithPath: path))
    }

    @Test
    func `a file with a second name is refused, and a deleted lock lets no second outbox in`() throws {
        let first = self.driver()
        _ = try first.keep(delivery("a")).get()
        let other = "\(self.folder.path)/other.sqlite"
        #expect(link(self.folder.outbox, other) == 0)
        #expect(Driver(other).open().outboxCode == .notAccessible)
        #expect(unlink(other) == 0)
        try FileManager.default.removeItem(atPath: "\(self.folder.outbox)-lock")
        let second = self.driver()
        #expect(second.open().outboxCode == .inUse)
        _ = try first.keep(delivery("b")).get()
        first.shut()
        #expect(try second.waiting() == ["a", "b"])
    }

    @Test
    func `a file that is damaged while it is open is moved aside, and calls go on in a new one`() throws {
        let payload = Payload(trustedElements: Array("\"\(String(repeating: "x", count: 3_000))\"".utf8)[...])
        let first = self.driver()
        for number in 1...50 { _ = try first.keep(delivery("\(number)", payload)).get() }
        _ = consume first
        // All pages but the first, which has the tables.
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: self.folder.outbox))
        let size = try file.seekToEnd()
        for page in stride(from: 4_096, to: size, by: 4_096) {
            try file.seek(toOffset: page)
            try file.write(contentsOf: Data(repeating: 0xA5, count: 200))
        }
        try file.close()
        let next = self.driver()
        #expect(try next.keep(delivery("new")).get().number > 0)
        #expect(try next.waiting() == ["new"])
        #expect(self.folder.files.contains { $0.contains("damaged") })
    }

    @Test
    func `a file that is deleted under the outbox is written again, with all its rows`() throws {
        let driver = self.driver()
        _ = try driver.keep(delivery("a")).get()
        try FileManager.default.removeItem(atPath: self.folder.outbox)
        _ = try driver.keep(delivery("b")).get()
        #expect(driver.reports.map(\.message) == ["The outbox's file was deleted or replaced"])
        _ = consume driver
        #expect(try self.driver().waiting() == ["a", "b"])
    }

    @Test
    func `an empty file in the place of the open one is replaced by all its rows`() throws {
        let driver = self.driver()
        _ = try driver.keep(delivery("a")).get()
        try FileManager.default.removeItem(atPath: self.folder.outbox)
        try Data().write(to: URL(fileURLWithPath: self.folder.outbox))
        _ = try driver.keep(delivery("b")).get()
        _ = consume driver
        #expect(try self.driver().waiting() == ["a", "b"])
    }

    @Test
    func `something else in the place of the open file stays as it is, and nothing is lost by it`() throws {
        let text = Data("# A text\n\n\(String(repeating: "with lines ", count: 20))".utf8)
        let kinds: [(OutboxError.Code, (String) throws -> Void)] = [
            (.notAnOutbox, { try text.write(to: URL(fileURLWithPath: $0)) }),
            (.notAnOutbox, { try Database.execute("CREATE TABLE note (text)", in: $0) }),
            (.notAnOutbox, { path in #expect(mkfifo(path, 0o600) == 0) }),
            (.notAccessible, { try FileManager.default.createSymbolicLink(atPath: $0, withDestinationPath: "/") }),
        ]
        for (code, make) in kinds {
            let folder = try Folder()
            let driver = Driver(folder.outbox)
            _ = try driver.keep(delivery("a")).get()
            try FileManager.default.removeItem(atPath: folder.outbox)
            for ending in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: folder.outbox + ending) }
            try make(folder.outbox)
            let bytes = Self.bytes(folder.outbox)
            for key in ["b", "c"] { #expect(driver.keep(delivery(key)).outboxCode == code) }
            #expect(Self.bytes(folder.outbox) == bytes)
            try FileManager.default.removeItem(atPath: folder.outbox)
            _ = try driver.keep(delivery("d")).get()
            #expect(try driver.waiting() == ["a", "d"])
        }
    }

    @Test(arguments: ["-lock", "-reserve", "-wal", "-shm", "-journal"])
    func `a pipe, a folder or a link beside the file is named, and the file stays as it is`(_ ending: String) throws {
        let path = "\(self.folder.outbox)\(ending)"
        let first = self.driver()
        _ = try first.keep(delivery("a")).get()
        first.shut()
        for make in [
            { #expect(mkfifo(path, 0o600) == 0) }, { #expect(mkdir(path, 0o700) == 0) },
            { #expect(symlink("/dev/null", path) == 0) },
        ] {
            try? FileManager.default.removeItem(atPath: path)
            make()
            let refused = #expect(throws: OutboxError.self) { try self.driver().keep(delivery("b")).get() }
            #expect(refused?.code == .notAccessible)
            #expect(refused?.message.contains("'\(path)'") == true)
        }
        try FileManager.default.removeItem(atPath: path)
        let last = self.driver()
        #expect(try last.waiting() == ["a"])
        #expect(last.reports.isEmpty)
    }

    @Test
    func `a path with a NUL character is refused, and does nothing to the file before it`() throws {
        let first = self.driver()
        _ = try first.keep(delivery("a")).get()
        first.shut()
        let other = "\(self.folder.outbox)\0b"
        #expect(Driver(other).keep(delivery("b")).outboxCode == .notAccessible)
        #expect(throws: OutboxError.self) { try Outbox.entries(at: other) }
        #expect(try self.driver().waiting() == ["a"])
    }

    @Test
    func `a pipe is not listed`() throws {
        #expect(mkfifo(self.folder.outbox, 0o600) == 0)
        let error = #expect(throws: OutboxError.self) { try Outbox.entries(at: self.folder.outbox) }
        #expect(error?.code == .notAnOutbox)
    }

    @Test
    func `a folder that is missing is a typed error, and no loss of what comes later`() throws {
        let path = "\(self.folder.path)/later/outbox.sqlite"
        let driver = Driver(path)
        #expect(driver.keep(delivery("a")).outboxCode == .notAccessible)
        try FileManager.default.createDirectory(atPath: "\(self.folder.path)/later", withIntermediateDirectories: true)
        _ = try driver.keep(delivery("b")).get()
        #expect(try driver.waiting() == ["b"])
    }

    #if os(Linux)
    @Test
    func `a file whose permission was taken away is a typed error, and all is there when it is given back`() throws {
        try Unprivileged.run(owning: self.folder) {
            let first = self.driver()
            _ = try first.keep(delivery("a")).get()
            // An outbox that has it open goes on.
            #expect(chmod(self.folder.outbox, 0) == 0)
            _ = try first.keep(delivery("b")).get()
            first.shut()
            #expect(chmod(self.folder.outbox, 0) == 0)
            let second = self.driver()
            #expect(second.keep(delivery("c")).outboxCode == .notAccessible)
            #expect(chmod(self.folder.outbox, 0o600) == 0)
            _ = try second.keep(delivery("d")).get()
            #expect(try second.waiting() == ["a", "b", "d"])
        }
    }

    @Test
    func `a deleted file that is written again accepts nothing until its folder is synchronized`() throws {
        try Unprivileged.run(owning: self.folder) {
            let driver = self.driver()
            _ = try driver.keep(delivery("a")).get()
            try FileManager.default.removeItem(atPath: self.folder.outbox)
            // A folder that cannot be read cannot be synchronized, though files can be made in it.
            #expect(chmod(self.folder.path, 0o300) == 0)
            let refused = #expect(throws: OutboxError.self) { try driver.keep(delivery("b")).get() }
            #expect(refused?.message.contains("cannot open '\(self.folder.path)'") == true)
            #expect(chmod(self.folder.path, 0o700) == 0)
            _ = try driver.keep(delivery("c")).get()
            #expect(try driver.waiting() == ["a", "c"])
        }
    }

    @Test
    func `a folder that cannot be written any more is a typed error, and nothing is lost by it`() throws {
        try Unprivileged.run(owning: self.folder) {
            let first = self.driver()
            _ = try first.keep(delivery("a")).get()
            first.shut()
            #expect(chmod(self.folder.path, 0o500) == 0)
            let second = self.driver()
            #expect([.notAccessible, .readOnly].contains(second.keep(delivery("b")).outboxCode))
            #expect(chmod(self.folder.path, 0o700) == 0)
            _ = try second.keep(delivery("c")).get()
            #expect(try second.waiting() == ["a", "c"])
        }
    }
    #endif

    @Test
    func `a folder that was deleted refuses what comes, and is used again when it is back`() throws {
        let folder = "\(self.folder.path)/sub"
        let make = { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
        try make()
        let driver = Driver("\(folder)/outbox.sqlite")
        _ = try driver.keep(delivery("a")).get()
        try FileManager.default.removeItem(atPath: folder)
        for key in ["b", "c"] { #expect(throws: OutboxError.self) { try driver.keep(delivery(key)).get() } }
        try make()
        _ = try driver.keep(delivery("d")).get()
        driver.shut()
        #expect(try Driver("\(folder)/outbox.sqlite").waiting().last == "d")
    }

    // MARK: The log

    /// A driver, and how often its log was written into the database because it had grown.
    private func counting() -> (driver: Driver, checkpoints: @Sendable () -> Int) {
        let count = Lock(0)
        let driver = Driver(self.folder.outbox) {
            $0.onStep = { step in
                if step == OutboxStep.checkpointing.rawValue { count.withLock { $0 += 1 } }
            }
        }
        return (driver, { count.withLock { $0 } })
    }

    private let large = Payload(trustedElements: Array("\"\(String(repeating: "x", count: 100_000))\"".utf8)[...])

    // A transaction counts 16 KiB, and a row 512 bytes with its content.
    @Test
    func `the log is written into the database each time that a megabyte of deliveries has come`() throws {
        let (driver, checkpoints) = self.counting()
        for number in 1...18 {
            _ = try driver.keep(delivery("\(number)", self.large)).get()
            #expect(checkpoints() == number / 9)
        }
    }

    @Test
    func `received events count for the log as well`() throws {
        let (driver, checkpoints) = self.counting()
        try driver.open().get()
        for _ in 1...20 { driver.record(Message(event: "line", payload: self.large)) }
        #expect(checkpoints() >= 1)
    }

    @Test(arguments: [true, false])
    func `outcomes and postponements count for the log as well`(isEnd: Bool) throws {
        let first = self.driver()
        first.together { outbox in
            for number in 1...64 { outbox.keep(delivery("\(number)")) { _ in } }
        }
        first.shut()
        let (driver, checkpoints) = self.counting()
        for number in 1...64 {
            let row = delivery("\(number)")
            if isEnd { driver.end(row, .success(.empty)) } else { driver.together { $0.postpone(row) } }
            #expect(checkpoints() == number / 63)
        }
    }

    @Test
    func `the log that a killed process has left is written into the database when the file is opened`() throws {
        let (driver, copy) = (self.driver(), try Folder())
        for number in 1...8 { _ = try driver.keep(delivery("\(number)", self.large)).get() }
        for name in self.folder.files where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(atPath: "\(self.folder.path)/\(name)", toPath: "\(copy.path)/\(name)")
        }
        let size = { try Data(contentsOf: URL(fileURLWithPath: "\(copy.outbox)-wal")).count }
        #expect(try size() > 800_000)
        let next = Driver(copy.outbox)
        #expect(try next.waiting().count == 8)
        #expect(try size() < 100_000)
        next.shut()
    }

    @Test
    func `the log of a file that is written again begins empty`() throws {
        let (driver, checkpoints) = self.counting()
        for number in 1...8 { _ = try driver.keep(delivery("\(number)", self.large)).get() }
        try FileManager.default.removeItem(atPath: self.folder.outbox)
        for number in 9...16 { _ = try driver.keep(delivery("\(number)", self.large)).get() }
        #expect(checkpoints() == 0)
    }

    // MARK: Files in the place of others

    @Test
    func `a file that is written again has all that is accepted, also when the process dies`() throws {
        let (driver, copy) = (self.driver(), try Folder())
        _ = try driver.keep(delivery("a")).get()
        // Left by a process that died as it wrote its file again.
        try Data("half a file".utf8).write(to: URL(fileURLWithPath: "\(self.folder.outbox)-rescued"))
        try FileManager.default.removeItem(atPath: self.folder.outbox)
        for key in ["b", "c"] { _ = try driver.keep(delivery(key)).get() }
        for name in self.folder.files where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(atPath: "\(self.folder.path)/\(name)", toPath: "\(copy.path)/\(name)")
        }
        #expect(try Driver(copy.outbox).waiting() == ["a", "b", "c"])
    }

    @Test
    func `a file that was written again is kept open when something else is in its place later`() throws {
        let driver = self.driver()
        for key in ["a", "b"] {
            _ = try driver.keep(delivery(key)).get()
            try FileManager.default.removeItem(atPath: self.folder.outbox)
        }
        try Data("a text".utf8).write(to: URL(fileURLWithPath: self.folder.outbox))
        #expect(driver.keep(delivery("c")).outboxCode == .notAnOutbox)
        try FileManager.default.removeItem(atPath: self.folder.outbox)
        _ = try driver.keep(delivery("d")).get()
        #expect(try driver.waiting() == ["a", "b", "d"])
    }

    @Test(arguments: [false, true])
    func `another outbox's file in the place of the open one counts from then on`(besideTheLog: Bool) async throws {
        let (driver, other) = (self.driver(), try Folder())
        for key in ["a", "b"] { _ = try driver.keep(delivery(key)).get() }
        let stranger = Driver(other.outbox)
        _ = try stranger.keep(delivery("x")).get()
        stranger.shut()
        for ending in besideTheLog ? [""] : ["", "-wal", "-shm"] {
            try FileManager.default.removeItem(atPath: self.folder.outbox + ending)
        }
        try FileManager.default.copyItem(atPath: other.outbox, toPath: self.folder.outbox)
        _ = try driver.keep(delivery("c")).get()
        #expect(try driver.waiting() == ["x", "c"])
        #expect(try await driver.outbox.figures().waiting == 2)
    }

    @Test
    func `another outbox's file that cannot be opened yet is no hindrance for what comes after it`() throws {
        let (driver, other) = (self.driver(), try Folder())
        _ = try driver.keep(delivery("a")).get()
        let stranger = Driver(other.outbox)
        _ = try stranger.keep(delivery("x")).get()
        stranger.shut()
        for ending in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: self.folder.outbox + ending) }
        try FileManager.default.copyItem(atPath: other.outbox, toPath: self.folder.outbox)
        let lock = try FileLock(database: self.folder.outbox)
        #expect(driver.keep(delivery("b")).outboxCode == .inUse)
        try FileManager.default.removeItem(atPath: self.folder.outbox)
        withExtendedLifetime(lock) {}
        _ = try driver.keep(delivery("c")).get()
        #expect(try driver.waiting() == ["c"])
    }

    @Test
    func `a damaged file that cannot be moved aside is tried again with the next call`() throws {
        let clock = TestClock()
        let driver = Driver(self.folder.outbox, clock: clock.clock)
        _ = try driver.keep(delivery("a")).get()
        try Database.execute(
            "CREATE TRIGGER t BEFORE INSERT ON delivery BEGIN SELECT raise(IGNORE); END", in: self.folder.outbox)
        let aside = "\(self.folder.outbox).damaged-1000000000"
        try FileManager.default.createDirectory(atPath: "\(aside)/full", withIntermediateDirectories: true)
        #expect(throws: OutboxError.self) { try driver.keep(delivery("b")).get() }
        try FileManager.default.removeItem(atPath: aside)
        _ = try driver.keep(delivery("c")).get()
        #expect(try driver.waiting() == ["a", "c"])
    }
}
#endif
