#if OUTBOX && Metrics
internal import Foundation
internal import GRDB
@testable import LinkspanOutbox
internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@Suite("The small parts of an outbox")
struct SmallPartsTests {
    private let folder: Folder

    init() throws { self.folder = try Folder() }

    @Test
    func `the defaults are the documented ones`() {
        let options = OutboxOptions()
        #expect(options.rows == 100_000)
        #expect(options.bytes == 256 << 20)
        #expect(options.maximumAge == .seconds(7 * 24 * 60 * 60))
        #expect(options.outcomes == 100_000)
        #expect(options.received == 100_000)
    }

    @Test
    func `a page has a thousand entries unless another limit is given`() async throws {
        let driver = Driver(self.folder.outbox)
        driver.together { outbox in
            for number in 0...1_000 { outbox.keep(delivery("\(number)")) { _ in } }
        }
        #expect(try await driver.outbox.entries().count == 1_000)
        #expect(try await driver.outbox.entries(limit: 2_000).count == 1_001)
    }

    @Test
    func `a random name has sixteen digits, whatever its bits are`() {
        let names = (0..<200).map { _ in Token.make() }
        #expect(names.allSatisfy { $0.count == 16 && UInt64($0, radix: 16) != nil })
        #expect(Set(names).count == 200)
    }

    @Test
    func `the system's clock tells milliseconds since 1970`() {
        let difference = Double(OutboxClock.system.now().wall) / 1_000 - Date().timeIntervalSince1970
        #expect(abs(difference) < 60)
    }

    @Test
    func `a reserve is a file of zeros, and one of its size is left as it is`() throws {
        let path = "\(self.folder.path)/reserve"
        #expect(FileSystem.fill(path, size: 100))
        #expect(FileSystem.start(of: path, size: 200) == Array(repeating: 0, count: 100))
        try Data(repeating: 1, count: 100).write(to: URL(fileURLWithPath: path))
        #expect(FileSystem.fill(path, size: 100))
        #expect(FileSystem.start(of: path, size: 1) == [1])
        #expect(FileSystem.fill(path, size: 50))
        #expect(FileSystem.start(of: path, size: 200) == Array(repeating: 0, count: 50))
        #expect(!FileSystem.fill("\(self.folder.path)/none/reserve", size: 100))
    }

    @Test(
        arguments: [
            (.diskFull, [ENOSPC, EDQUOT]), (.readOnly, [EROFS]), (.inputOutput, [EIO, ENFILE]),
            (.notAccessible, [EACCES, EPERM, ENOENT, ENOTDIR, ELOOP, EISDIR]),
        ] as [(OutboxError.Code, [CInt])])
    func `the system's numbers of failures are codes`(_ code: OutboxError.Code, _ numbers: [CInt]) {
        for number in numbers {
            errno = number
            #expect(FileSystem.failure("cannot open", "/a").code == code, "error \(number)")
        }
    }

    @Test(arguments: ["/outbox", "outbox", "/usr/outbox"])
    func `the folder of a file is synchronized, also the root and the present one`(_ path: String) throws {
        try FileSystem.synchronizeFolder(of: path)
    }

    @Test(
        arguments: [
            (0, 0, false, nil), (OutboxSchema.applicationID, OutboxSchema.steps.count, true, nil),
            (1, 0, false, .notAnOutbox), (0, 1, false, .notAnOutbox), (0, 0, true, .notAnOutbox),
            (OutboxSchema.applicationID, -1, true, .corrupt),
            (OutboxSchema.applicationID, OutboxSchema.steps.count + 1, true, .newerSchema),
        ] as [(Int, Int, Bool, OutboxError.Code?)])
    func `a database is judged by its mark, its version, and whether anything is in it`(
        id: Int, version: Int, hasTables: Bool, code: OutboxError.Code?
    ) throws {
        try DatabaseQueue().writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA application_id = \(id); PRAGMA user_version = \(version)")
            if hasTables { try database.execute(sql: "CREATE TABLE t (a)") }
            do {
                try OutboxSchema.check(database, path: "/a")
                #expect(code == nil)
            } catch {
                #expect((error as? OutboxError)?.code == code)
            }
        }
    }

    @Test
    func `an opening counts on behind the outcomes and the events of a file that has lost its openings`() throws {
        for (ended, received) in [(5, 3), (3, 5)] as [(Int64, Int64)] {
            var former = OutboxTotals()
            (former.lastEnded, former.lastReceived) = (ended << 36, received << 36)
            let session = try DatabaseQueue().writeWithoutTransaction { database in
                try OutboxSchema.migrate(database, onStep: nil)
                return try OutboxSession(beginning: database, clock: .system, after: former)
            }
            #expect(session.number == 6)
        }
    }

    @Test
    func `keys count for each ordering key of an account, and none comes twice`() {
        let keys = KeyCounter(producer: "p", session: "s")
        let first = [("@a", "o"), ("@b", "o"), ("@a", "o"), ("@a", "x")].map { keys.next(account: $0, orderingKey: $1) }
        #expect(first == ["p.s.1.1", "p.s.2.1", "p.s.1.2", "p.s.3.1"])
        let others = (0..<20_000).map { keys.next(account: "@a", orderingKey: "\($0)") }
        #expect(Set(first + others).count == 20_004)
    }

    @Test
    func `no byte passes from one text of a checksum to the next`() {
        let content = Data([1])
        #expect(
            RowChecksum.make(["@a", "b", "", "event"], content) != RowChecksum.make(["@a", "be", "", "vent"], content))
        #expect(RowChecksum.make(["@a", "b", "", "e"], content) != RowChecksum.make(["@a", "b", "e", ""], content))
    }

    @Test
    func `a lock is marked once, and keeps the number of the latest delivery`() throws {
        let path = "\(self.folder.path)/lock"
        var lock: FileLock? = try FileLock(path: path)
        #expect(lock?.wasThere == false)
        #expect(!FileLock.isMarked(path))
        #expect(lock?.accepted == nil)
        lock?.mark()
        #expect(FileLock.isMarked(path))
        #expect(lock?.accepted == 0)
        lock?.accepted = 7
        lock = nil
        lock = try FileLock(path: path)
        #expect(lock?.wasThere == true)
        lock?.mark()
        #expect(lock?.accepted == 7)
    }

    @Test
    func `a number behind another mark, or that is not written twice, is none`() throws {
        let path = "\(self.folder.path)/lock"
        for (place, isNumber) in [(nil, true), (0, false), (8, false), (16, false)] as [(Int?, Bool)] {
            let lock = try FileLock(path: path)
            lock.accepted = 7
            if let place {
                let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                try file.seek(toOffset: UInt64(place))
                try file.write(contentsOf: [0x55])
                try file.close()
            }
            #expect((lock.accepted == 7) == isNumber && (lock.accepted == nil) == !isNumber, "\(place ?? -1)")
        }
    }

    @Test
    func `a lock that another has costs no descriptor, however often it is tried`() throws {
        let path = "\(self.folder.path)/lock"
        let lock = try FileLock(path: path)
        let open = { (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd").count) ?? 0 }
        let before = open()
        for _ in 0..<200 {
            let error = #expect(throws: OutboxError.self) { try FileLock(path: path) }
            #expect(error?.code == .inUse)
        }
        #expect(open() < before + 100)
        withExtendedLifetime(lock) {}
    }

    @Test
    func `the age of the oldest delivery is measured once a second`() {
        let (gauge, start) = (OutboxGauge(), ContinuousClock.now)
        var totals = OutboxTotals()
        totals.waiting = 1
        let measured = [0, 999, 1_000, 1_999, 2_000].map { milliseconds in
            gauge.show(totals, refusal: nil, at: start + .milliseconds(milliseconds)) { .zero }
        }
        #expect(measured == [true, false, true, false, true])
    }
}
#endif
