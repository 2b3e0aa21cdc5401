#if OUTBOX && Metrics
internal import Foundation
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
