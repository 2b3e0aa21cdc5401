#if OUTBOX && Metrics
internal import Linkspan
@testable import LinkspanOutbox
internal import TestSupport
internal import Testing

@Suite("Rows that cannot be read")
struct DamagedRowTests {
    private let folder: Folder

    init() throws { self.folder = try Folder() }

    private var isSetAside: Bool { self.folder.files.contains { $0.contains("damaged") } }

    /// Keeps three deliveries, or their outcomes, and three events, and changes the file behind them.
    private func driver(damagedBy sql: String, outcomes: Bool = false) throws -> Driver {
        let first = Driver(self.folder.outbox)
        for key in ["a", "b", "c"] {
            let row = try first.keep(delivery(key, try Payload(key))).get()
            if outcomes { first.end(row, .failure(LinkspanError(.messageRefused, "odd"))) }
            first.record(Message(event: "line", payload: try Payload(key)))
        }
        first.shut()
        // What the tables refuse, a disk may do to them.
        try Database.execute(
            """
            CREATE TEMP TABLE former AS SELECT * FROM sqlite_schema;
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(replace(sql, ' NOT NULL', ''), ') STRICT', ')')
                WHERE name IN ('delivery', 'received');
            PRAGMA writable_schema = RESET;
            \(sql);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema AS present SET sql = former.sql FROM former WHERE former.name = present.name;
            PRAGMA writable_schema = RESET;
            """, in: self.folder.outbox)
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
        #expect(driver.reports.map(\.message) == ["A recorded event cannot be read"])
        for entry in entries { #expect(driver.confirm(entry)) }
        #expect(driver.received().isEmpty)
        #expect(!self.isSetAside)
    }

    // MARK: Damaged columns

    /// A change of a row behind the outbox's back.
    ///
    /// If the column does not allow the value (its type, or NOT NULL), the check at opening finds that, and the file is
    /// moved aside.
    struct Damage: ExpressibleByStringLiteral {
        let change: String
        let isRefused: Bool

        init(stringLiteral change: String) { (self.change, self.isRefused) = (change, false) }
        private init(refused change: String) { (self.change, self.isRefused) = (change, true) }

        static func refused(_ changes: String...) -> [Self] { changes.map(Self.init(refused:)) }
    }

    @Test(
        arguments: ["content = NULL"]
            + Damage.refused(
                "key = NULL", "key = x'FF'", "ordering_key = NULL", "event = NULL", "event = x'FF'", "content = 5",
                "event = NULL, checksum = NULL", "ordering_key = NULL, checksum = NULL"))
    func `a row without a part that a delivery needs ends alone, and can be confirmed`(_ damage: Damage) async throws {
        let driver = try self.driver(damagedBy: "UPDATE delivery SET \(damage.change) WHERE key = 'b'")
        #expect(try driver.waiting() == ["a", "c"])
        let entry = try #require(driver.outcomes().first)
        #expect(entry.fate == .rejected)
        #expect(entry.delivery.failure?.code == .decodingFailed)
        #expect(try await driver.outbox.confirm(entry))
        #expect(try await driver.outbox.figures().outcomes == 0)
        #expect(self.isSetAside == damage.isRefused)
    }

    @Test(arguments: [
        "content = (SELECT content FROM delivery WHERE key = 'a')", "key = 'B'", "event = 'event a'",
        "ordering_key = 'hall'", "checksum = checksum + 1", "key = 'be', event = 'vent b'",
    ])
    func `an altered row is never sent, is reported, and ends with an outcome`(_ change: String) async throws {
        let driver = try self.driver(damagedBy: "UPDATE delivery SET \(change) WHERE key = 'b'")
        #expect(try driver.waiting() == ["a", "c"])
        #expect(driver.reports.map(\.message) == ["A stored delivery cannot be read"])
        let entry = try #require(driver.outcomes().first)
        #expect(entry.delivery.failure?.code == .decodingFailed)
        #expect(entry.delivery.payload == .empty)
        // Neither another cipher nor another attempt makes it right.
        try await driver.outbox.reseal()
        _ = try await driver.outbox.retry(key: entry.delivery.key)
        #expect(try driver.waiting() == ["a", "c"])
        #expect(!self.isSetAside)
    }

    @Test
    func `a row that an earlier version kept, without a checksum, is delivered`() throws {
        let driver = try self.driver(damagedBy: "UPDATE delivery SET checksum = NULL")
        #expect(try driver.waiting() == ["a", "b", "c"])
    }

    @Test(
        arguments: [
            "size = 9223372036854775807", "kept_start = -9223372036854775807 - 1",
            "timeout = -9223372036854775807 - 1", "refusals = 9223372036854775807", "number = 9223372036854775807",
            "number = -5", "fate = 99",
            // One flipped bit of the row's header: a delivery that was never sent does not count as delivered.
            "fate = 1", "fate = 2, code = 'decodingFailed'",
        ]
            + Damage.refused(
                "compressible = NULL", "size = NULL", "size = 'x'", "session = NULL",
                "kept_wall = NULL, kept_start = NULL", "kept_wall = -9223372036854775807 - 1, session = NULL",
                "timeout = 'x'", "refusals = NULL"))
    func `a row whose other columns are damaged is delivered`(_ damage: Damage) async throws {
        let driver = try self.driver(damagedBy: "UPDATE delivery SET \(damage.change) WHERE key = 'b'")
        _ = try driver.keep(delivery("d")).get()
        #expect(try Set(driver.waiting()) == ["a", "b", "c", "d"])
        #expect(try await driver.outbox.figures(account: nil).waiting == 4)
        #expect(try await driver.outbox.entries().count == 4)
        driver.end(delivery("b"), .success(.empty))
        #expect(try Set(driver.waiting()) == ["a", "c", "d"])
        #expect(self.isSetAside == damage.isRefused)
    }

    @Test(
        arguments: ["fate = NULL", "code = 5", "code = NULL", "ended = 9223372036854775807", "ended = -3"]
            + Damage.refused("fate = 'x'", "certainty = 'x'", "message = x'FF'", "reply = 5", "ended = 'x'"))
    func `an outcome with a damaged column is offered with the others, and new ones come behind`(
        _ damage: Damage
    ) async throws {
        let driver = try self.driver(
            damagedBy: "UPDATE delivery SET \(damage.change) WHERE key = 'b'", outcomes: true)
        driver.end(try driver.keep(delivery("d")).get(), .success(.empty))
        let entries = driver.outcomes()
        #expect(Set(entries.map(\.delivery.key)) == ["a", "b", "c", "d"])
        #expect(entries.last?.delivery.key == "d")
        #expect(entries.allSatisfy { $0.fate != nil && $0.delivery.outcome != nil })
        for entry in entries { #expect(try await driver.outbox.confirm(entry)) }
        #expect(self.isSetAside == damage.isRefused)
    }

    @Test(
        arguments: ["event = NULL", "content = NULL"]
            + Damage.refused("content = 5", "missed = 'x', content = NULL"))
    func `an event with a damaged column is a gap, and the others are offered`(_ damage: Damage) throws {
        let driver = try self.driver(
            damagedBy: "UPDATE received SET \(damage.change) WHERE number = (SELECT max(number) FROM received) - 1")
        #expect(driver.received().map(\.isGap) == [false, true, false])
        #expect(self.isSetAside == damage.isRefused)
    }

    @Test(arguments: ["9223372036854775807", "-3"])
    func `an event with a damaged number is offered, and new ones come behind`(_ number: String) throws {
        let driver = try self.driver(
            damagedBy: "UPDATE received SET number = \(number) WHERE number = (SELECT min(number) FROM received)")
        #expect(driver.record(Message(event: "line", payload: try Payload("d"))))
        #expect(driver.received().count == 4)
        #expect(!self.isSetAside)
    }
}
#endif
