#if OUTBOX && Metrics
#if os(Linux)
internal import Foundation
internal import Linkspan
internal import LinkspanRuntime
@_spi(OutboxSteps) @testable import LinkspanOutbox
internal import TestSupport
internal import Testing

@Suite("An outbox on a full or read-only disk", .enabled(if: SmallDisk.isAvailable, "needs root"))
struct DiskTests {
    private let payload = Payload(trustedElements: Array("\"\(String(repeating: "x", count: 10_000))\"".utf8)[...])

    /// Keeps deliveries until the disk is full.
    private func fill(_ driver: Driver) throws -> [StoredDelivery] {
        var kept: [StoredDelivery] = []
        for number in 1...10_000 {
            switch driver.keep(delivery("\(number)", self.payload)) {
            case .success(let row): kept.append(row)
            case let refusal:
                #expect(refusal.outboxCode == .diskFull)
                return kept
            }
        }
        Issue.record("the disk is not full")
        return kept
    }

    @Test
    func `on a full disk deliveries are refused, outcomes recorded, and what is erased makes room again`() async throws
    {
        let disk = try SmallDisk(kilobytes: 6_144)
        let driver = Driver(disk.folder.outbox)
        let kept = try self.fill(driver)
        #expect(kept.count > 50)
        #expect(try driver.waiting().count == kept.count)
        for row in kept { driver.end(row, .success(.empty)) }
        #expect(try driver.waiting().isEmpty)
        driver.shut()
        let next = Driver(disk.folder.outbox)
        #expect(try next.waiting().isEmpty)
        #expect(next.outcomes().count == kept.count)
        for row in kept { #expect(next.confirm(row.key)) }
        #expect(try self.fill(next).count > 20)
    }

    @Test
    func `rows are sent by a process that starts on a full disk, and the summary says that no more are accepted`()
        throws
    {
        let disk = try SmallDisk(kilobytes: 6_144)
        let first = Driver(disk.folder.outbox)
        for number in 1...20 { _ = try first.keep(delivery("\(number)", self.payload)).get() }
        first.shut()
        let filler = "\(disk.folder.path)/filler"
        #expect(FileManager.default.createFile(atPath: filler, contents: nil))
        let handle = try #require(FileHandle(forWritingAtPath: filler))
        for size in [65_536, 1] { while (try? handle.write(contentsOf: Data(count: size))) != nil {} }
        let next = Driver(disk.folder.outbox)
        #expect(try next.waiting().count == 20)
        #expect(next.outbox.summary?.contains("The outbox accepts no deliveries: diskFull: ") == true)
        #expect(next.keep(delivery("new", self.payload)).outboxCode == .diskFull)
        for number in 1...20 { next.end(delivery("\(number)"), .success(.empty)) }
        next.shut()
        #expect(Driver(disk.folder.outbox).outcomes().count == 20)
        try FileManager.default.removeItem(atPath: filler)
        let last = Driver(disk.folder.outbox)
        _ = try last.keep(delivery("new", self.payload)).get()
        #expect(last.outbox.summary?.contains("accepts no deliveries") == false)
    }

    @Test
    func `a process that dies as it gives the reserve up leaves all that was accepted`() throws {
        let (disk, copy) = (try SmallDisk(kilobytes: 6_144), try Folder())
        let hasCopied = Lock(false)
        let driver = Driver(disk.folder.outbox) {
            $0.onStep = { step in
                guard step == OutboxStep.releasingReserve.rawValue, !hasCopied.withLock({ $0 }) else { return }
                for name in disk.folder.files where !name.hasSuffix("-shm") {
                    try? FileManager.default.copyItem(
                        atPath: "\(disk.folder.path)/\(name)", toPath: "\(copy.path)/\(name)")
                }
                hasCopied.withLock { $0 = true }
            }
        }
        let kept = try self.fill(driver)
        for row in kept { driver.end(row, .success(.empty)) }
        #expect(hasCopied.withLock { $0 })
        let next = Driver(copy.outbox)
        let left = Set(try next.waiting() + next.outcomes().map(\.delivery.key))
        #expect(left == Set(kept.map(\.key)))
    }

    @Test
    func `a read-only file system is a typed error, and nothing is lost by it`() throws {
        let disk = try SmallDisk(kilobytes: 6_144)
        let first = Driver(disk.folder.outbox)
        _ = try first.keep(delivery("a")).get()
        first.shut()
        try disk.setReadOnly(true)
        let second = Driver(disk.folder.outbox)
        #expect(second.keep(delivery("b")).outboxCode == .readOnly)
        try disk.setReadOnly(false)
        _ = try second.keep(delivery("c")).get()
        #expect(try second.waiting() == ["a", "c"])
    }
}
#endif
#endif
