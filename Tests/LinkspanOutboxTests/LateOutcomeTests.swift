#if OUTBOX && Metrics
internal import Linkspan
@testable import LinkspanOutbox
internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@Suite("Outcomes that cannot be recorded")
struct LateOutcomeTests {
    /// Seals nothing of one role while it is jammed.
    private final class Jam: OutboxCipher {
        struct Jammed: Error {}

        let isJammed = Lock(true)
        private let role: String

        init(_ role: String) { self.role = role }

        func seal(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] {
            if context.starts(with: self.role.utf8), self.isJammed.withLock({ $0 }) { throw Jammed() }
            return bytes
        }

        func open(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] { bytes }
    }

    private let folder: Folder
    private let jam = Jam("reply")

    init() throws { self.folder = try Folder() }

    private func driver() -> Driver { Driver(self.folder.outbox) { [jam] in $0.cipher = jam } }

    @Test
    func `a row with a late outcome keeps its number, so that pages go on behind it`() throws {
        let driver = self.driver()
        for key in ["a", "b", "c"] { _ = try driver.keep(delivery(key)).get() }
        driver.end(delivery("b"), .success(try Payload("done")))
        try driver.open().get()
        let page = try driver.load(rows: 2).get()
        #expect(page.map(\.number) == [1, 2])
        #expect(page.map { $0.outcome == nil } == [true, false])
        #expect(try driver.load(after: try #require(page.last).number).get().map(\.key) == ["c"])
    }

    @Test
    func `a late outcome is the answer to its key, and is recorded when that is possible`() throws {
        let driver = self.driver()
        _ = try driver.keep(delivery("a")).get()
        driver.end(delivery("a"), .success(try Payload("done")))
        #expect(try driver.find("a").get()?.outcome?.get()[0]?.string == "done")
        #expect(try driver.keep(delivery("a")).get().outcome?.get()[0]?.string == "done")
        #expect(driver.outcomes().isEmpty)
        self.jam.isJammed.withLock { $0 = false }
        _ = try driver.keep(delivery("b")).get()
        #expect(driver.outcomes().map(\.delivery.key) == ["a"])
        #expect(try driver.waiting() == ["b"])
    }

    @Test
    func `a late outcome ends with its row, and is none of a new one with the same key`() async throws {
        let driver = self.driver()
        for isAccount in [true, false] {
            _ = try driver.keep(delivery("a")).get()
            driver.end(delivery("a"), .success(try Payload("done")))
            if isAccount { driver.erase() } else { try await driver.outbox.erase(key: "a") }
            #expect(try driver.keep(delivery("a")).get().outcome == nil)
            #expect(try driver.waiting() == ["a"])
            driver.erase()
        }
    }

    @Test
    func `what is erased takes no outcome of another row along, and the first is told in the log`() async throws {
        let driver = self.driver()
        for key in ["a", "b", "c"] {
            _ = try driver.keep(delivery(key)).get()
            driver.end(delivery(key), .success(try Payload("done")))
        }
        #expect(driver.reports.map(\.message) == ["Outcomes cannot be recorded"])
        driver.erase("somebody else")
        try await driver.outbox.erase(key: "a", account: "somebody else")
        try await driver.outbox.erase(key: "b")
        #expect(try ["a", "b", "c"].map { try driver.find($0).get()?.outcome != nil } == [true, false, true])
    }

    @Test
    func `events that cannot be recorded are a gap before the next one, and are told once for each row of them`() throws
    {
        let jam = Jam("received")
        let driver = Driver(self.folder.outbox) { $0.cipher = jam }
        for (isJammed, numbers) in [(true, [1, 2]), (false, [3]), (true, [4]), (false, [5])] {
            jam.isJammed.withLock { $0 = isJammed }
            for number in numbers { driver.record(Message(event: "line", payload: try Payload(number))) }
        }
        #expect(driver.received().map(\.text) == ["gap of 2", "3", "gap of 1", "5"])
        #expect(driver.reports.map(\.message) == Array(repeating: "Received events cannot be recorded", count: 2))
    }
}
#endif
