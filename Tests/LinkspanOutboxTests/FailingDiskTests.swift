#if OUTBOX && Metrics
internal import Foundation
internal import GRDBSQLite
internal import Linkspan
@testable import LinkspanOutbox
internal import TestSupport
internal import Testing

/// Has each write and each sync fail in turn, and all that follow, until the disk is mended.
@Suite("An outbox on a failing disk", .serialized)
struct FailingDiskTests {
    @Test(arguments: [(SQLITE_FULL, OutboxError.Code.diskFull), (SQLITE_IOERR, .inputOutput)])
    func `a failed write is reported to its callers, and accepted deliveries are there once the disk works`(
        _ result: Int32, _ code: OutboxError.Code
    ) throws {
        var first = 0
        while try self.fails(from: first, result, code) { first += 1 }
        print("failing disk: \(first) writes and syncs failed in turn with \(code.rawValue)")
        #expect(first > 50)
    }

    /// Does all that an outbox does, on a disk that fails.
    ///
    /// - Returns: whether anything has failed.
    private func fails(from first: Int, _ result: Int32, _ code: OutboxError.Code) throws -> Bool {
        let folder = try Folder()
        let disk = RecordedDisk(folder: folder.path)
        defer { disk.stop() }
        disk.fail(from: first, result)
        let payload = Payload(trustedElements: Array("\"\(String(repeating: "x", count: 5_000))\"".utf8)[...])
        var (accepted, ended): (Set<String>, Set<String>) = ([], [])
        var driver = Driver(folder.outbox)
        for number in 1...8 {
            switch driver.keep(delivery("\(number)", payload)) {
            case .success(let row):
                accepted.insert(row.key)
                if number.isMultiple(of: 2) {
                    driver.end(row, .success(.empty))
                    ended.insert(row.key)
                }
            case let refusal: #expect(refusal.outboxCode == code, "write \(first), delivery \(number)")
            }
            if number == 5, ended.isSubset(of: Set(driver.outcomes().map(\.delivery.key))) {
                // Only when nothing is left to be recorded: what has ended is sent again otherwise.
                driver.shut()
                driver = Driver(folder.outbox)
            }
        }
        let hasFailed = disk.recover(failedFrom: first)
        _ = try driver.keep(delivery("afterwards")).get()
        #expect(Set(driver.outcomes().map(\.delivery.key)) == ended, "write \(first)")
        driver.shut()
        let next = Driver(folder.outbox)
        let waiting = try Set(next.waiting())
        #expect(waiting.isSuperset(of: accepted.subtracting(ended).union(["afterwards"])), "write \(first)")
        // A commit that failed in its last step may be found by the next one who opens the file, as after a crash.
        #expect(waiting.isDisjoint(with: ended), "write \(first)")
        #expect(Set(next.outcomes().map(\.delivery.key)) == ended, "write \(first)")
        #expect(!folder.files.contains { $0.contains("damaged") }, "write \(first)")
        next.shut()
        return hasFailed
    }
}
#endif
