#if Outbox && Metrics
internal import Linkspan
@testable import LinkspanOutbox
internal import OutboxFixtures
internal import Testing

@Suite("Rows that cannot be read")
struct DamagedRowTests {
    private let folder: Folder

    init() throws { self.folder = try Folder() }

    private var isSetAside: Bool { self.folder.files.contains { $0.contains("damaged") } }

    /// Keeps three deliveries and three events, and changes the file behind them.
    private func driver(damagedBy sql: String) throws -> Driver {
        let first = Driver(self.folder.outbox)
        for key in ["a", "b", "c"] {
            _ = try first.keep(delivery(key, try Payload(key))).get()
            first.record(Message(event: "line", payload: try Payload(key)))
        }
        first.shut()
        try Database.execute(sql, in: self.folder.outbox)
        return Driver(self.folder.outbox)
    }

    @Test(arguments: [(depth: 1, values: 150_000), (depth: 100, values: 1)])
    func `what was accepted is delivered, however many values it has and however deep it is`(
        depth: Int, values: Int
    ) throws {
        let brackets = (String(repeating: "[", count: depth), String(repeating: "]", count: depth))
        let text = brackets.0 + [String](repeating: "0", count: values).joined(separator: ",") + brackets.1
        let payload = Payload(trustedElements: Array(text.utf8)[...])
        let first = Driver(self.folder.outbox)
        _ = try first.keep(delivery("a")).get()
        _ = try first.keep(delivery("b", payload)).get()
        _ = try first.keep(delivery("c")).get()
        first.record(Message(event: "line", payload: payload))
        first.shut()
        let next = Driver(self.folder.outbox)
        #expect(try next.waiting() == ["a", "b", "c"])
        #expect(try next.find("b").get()?.payload == payload)
        #expect(next.received().map(\.isGap) == [false])
        #expect(!self.isSetAside)
    }

    @Test
    func `a delivery whose arguments cannot be read ends alone, and the page goes on`() async throws {
        let driver = try self.driver(damagedBy: "UPDATE delivery SET content = x'00FFFF' WHERE key = 'b'")
        #expect(try driver.find("b").get()?.failure?.code == .decodingFailed)
        try driver.open().get()
        let page = try driver.load().get()
        #expect(page.map(\.key) == ["a", "b", "c"])
        #expect(page.map { $0.outcome == nil } == [true, false, true])
        let entry = try #require(driver.outcomes().first)
        #expect(entry.fate == .rejected)
        #expect(entry.delivery.failure?.code == .decodingFailed)
        #expect(try await driver.outbox.figures().waiting == 2)
        #expect(try await driver.outbox.confirm(entry))
        #expect(try await driver.outbox.entries().map(\.delivery.key) == ["a", "c"])
        #expect(!self.isSetAside)
    }

    @Test
    func `a reply that cannot be read is told as that, and other outcomes are offered`() throws {
        let first = Driver(self.folder.outbox)
        for key in ["a", "b"] { first.end(try first.keep(delivery(key)).get(), .success(try Payload(key))) }
        first.shut()
        try Database.execute("UPDATE delivery SET reply = x'00FFFF' WHERE key = 'a'", in: self.folder.outbox)
        let next = Driver(self.folder.outbox)
        #expect(next.outcomes().map(\.fate) == [.delivered, .delivered])
        #expect(next.outcomes().map { $0.delivery.failure?.code } == [.decodingFailed, nil])
        #expect(!self.isSetAside)
    }

    @Test
    func `an event whose content cannot be read is a gap, and the others are offered`() throws {
        let driver = try self.driver(
            damagedBy: "UPDATE received SET content = x'00FFFF' WHERE number = (SELECT max(number) FROM received) - 1")
        let entries = driver.received()
        #expect(entries.map(\.isGap) == [false, true, false])
        for entry in entries { #expect(driver.confirm(entry)) }
        #expect(driver.received().isEmpty)
        #expect(!self.isSetAside)
    }
}
#endif
