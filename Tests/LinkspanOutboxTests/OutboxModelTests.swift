#if OUTBOX && Metrics
internal import Foundation
internal import Linkspan
@testable import LinkspanOutbox
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

/// Compares an outbox with an array, under random calls, reopenings and crashes.
///
/// 30 histories, or those that the environment variable `TEST_HISTORIES` names: so many, a range of seeds such as
/// `1001-2000`, or one seed after `=`.
@Suite("Outbox against a model")
struct OutboxModelTests {
    private static let seeds = Seeds.named(
        ProcessInfo.processInfo.environment["TEST_HISTORIES"], or: 1...30)

    @Test
    func `every history leaves the rows and outcomes that an array would have`() throws {
        for seed in Self.seeds {
            var history = try History(seed: seed)
            for step in 0..<60 where !(try history.makeStep()) {
                Issue.record("TEST_HISTORIES==\(seed), step \(step): \(history.course.suffix(5))")
                return
            }
        }
        print("histories of an outbox: seeds \(Self.seeds.lowerBound) to \(Self.seeds.upperBound)")
    }
}

/// One sequence of random calls, made to an outbox and to an array.
private struct History {
    private struct ModelRow {
        var row: StoredDelivery
        /// Its place among the outcomes.
        var ended: Int?
    }

    private static let accounts: [String?] = [nil, "ann", "bob"]

    private var generator: SeededGenerator
    private var folder: Folder
    private var driver: Driver
    private var model: [ModelRow] = []
    private var made = 0
    private var ends = 0
    private let limit: Int
    private(set) var course: [String] = []

    init(seed: UInt64) throws {
        self.generator = SeededGenerator(seed: seed)
        self.folder = try Folder()
        self.limit = Int.random(in: 3...30, using: &self.generator)
        self.driver = Driver(self.folder.outbox) { [limit] in $0.rows = limit }
    }

    /// Makes a random call; false when outbox and array differ.
    mutating func makeStep() throws -> Bool {
        switch Int.random(in: 0..<100, using: &self.generator) {
        case 0..<35: return try self.keep(self.newRow())
        case 35..<42:
            guard let row = self.model.randomElement(using: &self.generator)?.row else { return true }
            return try self.keep(row)
        case 42..<60: return try self.end()
        case 60..<68: return try self.keepMany()
        case 68..<73: return self.confirm()
        case 73..<75: return self.erase()
        case 75..<82: return try self.find()
        case 82..<90: return try self.reopen()
        default: return try self.compare()
        }
    }

    private mutating func note(_ text: String) { self.course.append(text) }

    private mutating func newRow() -> StoredDelivery {
        self.made += 1
        let size = Int.random(in: 0...2_000, using: &self.generator)
        let text = "\"\(self.made) \(String(repeating: "x", count: size))\""
        let blobs = Bool.random(using: &self.generator) ? [[UInt8(truncatingIfNeeded: self.made)][...]] : []
        return delivery(
            "k\(self.made)", account: Self.accounts.randomElement(using: &self.generator) ?? nil,
            orderingKey: "o\(self.made % 3)",
            Payload(trustedElements: Array(text.utf8)[...], attachments: blobs))
    }

    private func index(_ key: String, _ account: String?) -> Int? {
        self.model.firstIndex { $0.row.key == key && $0.row.account == account }
    }

    private var waiting: [StoredDelivery] { self.model.filter { $0.ended == nil }.map(\.row) }

    /// What the array says to a row, and whether it has it then.
    private mutating func modelKeep(_ row: StoredDelivery) -> StoredDelivery? {
        if let index = self.index(row.key, row.account) { return self.model[index].row }
        guard self.waiting.count < self.limit else { return nil }
        self.model.append(ModelRow(row: row))
        return row
    }

    private mutating func keep(_ row: StoredDelivery) throws -> Bool {
        self.note("keep \(row.key)")
        let (kept, expected) = (self.driver.keep(row), self.modelKeep(row))
        guard let expected else { return kept.outboxCode == .full }
        return try kept.get().isSame(as: expected)
    }

    private mutating func keepMany() throws -> Bool {
        let rows = (0..<Int.random(in: 2...12, using: &self.generator)).map { _ in self.newRow() }
        self.note("keep \(rows.map(\.key)) together")
        let kept = Lock<[Bool]>([])
        self.driver.together { outbox in
            for row in rows {
                outbox.keep(row) { result in kept.withLock { $0.append((try? result.get()) != nil) } }
            }
        }
        return kept.withLock { $0 } == rows.map { self.modelKeep($0) != nil }
    }

    private mutating func end() throws -> Bool {
        guard let index = self.model.indices.randomElement(using: &self.generator) else { return true }
        let row = self.model[index].row
        self.note("end \(row.key)")
        let outcomes: [Result<Payload, LinkspanError>] = [
            .success(Payload(trustedElements: Array("\(self.ends)".utf8)[...])),
            .failure(LinkspanError(.timedOut, "late")), .failure(LinkspanError(.cancelled, "given up")),
            .failure(LinkspanError(.messageRefused, "odd")),
        ]
        let outcome = outcomes[Int.random(in: 0..<4, using: &self.generator)]
        self.driver.end(row, outcome)
        if self.model[index].ended == nil {
            self.model[index].row.outcome = outcome
            self.ends += 1
            self.model[index].ended = self.ends
        }
        return true
    }

    private mutating func confirm() -> Bool {
        guard let index = self.model.indices.randomElement(using: &self.generator) else { return true }
        let entry = self.model[index]
        self.note("confirm \(entry.row.key)")
        guard self.driver.confirm(entry.row.key, entry.row.account) == (entry.ended != nil) else { return false }
        if entry.ended != nil { self.model.remove(at: index) }
        return true
    }

    private mutating func erase() -> Bool {
        let account = Self.accounts.randomElement(using: &self.generator) ?? nil
        self.note("erase \(account ?? "nobody")")
        self.driver.erase(account)
        self.model.removeAll { $0.row.account == account }
        return true
    }

    private mutating func find() throws -> Bool {
        let key = "k\(Int.random(in: 0...self.made, using: &self.generator))"
        self.note("find \(key)")
        for account in Self.accounts {
            let expected = self.index(key, account).map { self.model[$0].row }
            guard let found = try self.driver.find(key, account).get() else {
                if expected == nil { continue }
                return false
            }
            guard let expected, found.isSame(as: expected) else { return false }
        }
        return true
    }

    /// Opens the file anew: after an orderly end, or as a killed process leaves it.
    private mutating func reopen() throws -> Bool {
        let next = try Folder()
        let isKilled = Bool.random(using: &self.generator)
        self.note(isKilled ? "kill" : "reopen")
        if isKilled {
            for file in self.folder.files where !file.hasSuffix("-shm") && !file.hasSuffix("-lock") {
                try FileManager.default.copyItem(atPath: "\(self.folder.path)/\(file)", toPath: "\(next.path)/\(file)")
            }
            self.folder = next
        }
        self.driver.shut()
        self.driver = Driver(self.folder.outbox) { [limit] in $0.rows = limit }
        return try self.compare()
    }

    private mutating func compare() throws -> Bool {
        self.note("compare")
        for account in Self.accounts {
            let waiting = self.waiting.filter { $0.account == account }
            guard try self.driver.waiting(account) == waiting.map(\.key) else { return false }
            let outcomes = self.model.filter { $0.ended != nil && $0.row.account == account }
                .sorted { ($0.ended ?? 0) < ($1.ended ?? 0) }.map(\.row)
            let found = self.driver.outcomes(account).map(\.delivery)
            guard found.count == outcomes.count, zip(found, outcomes).allSatisfy({ $0.isSame(as: $1) }) else {
                return false
            }
        }
        return true
    }
}

extension StoredDelivery {
    /// Whether this row of an outbox is that of the model: what reached the server has no payload any more.
    fileprivate func isSame(as other: Self) -> Bool {
        let isDelivered = if case .success? = other.outcome { true } else { false }
        guard self.key == other.key, self.account == other.account, self.orderingKey == other.orderingKey,
            self.event == other.event, self.payload == (isDelivered ? .empty : other.payload)
        else { return false }
        switch (self.outcome, other.outcome) {
        case (nil, nil): return true
        case (.success(let reply), .success(let expected)): return reply == expected
        case (.failure(let error), .failure(let expected)): return error.code == expected.code
        default: return false
        }
    }
}
#endif
