#if OUTBOX && Metrics
internal import Foundation
internal import Linkspan
@testable import LinkspanOutbox
internal import LinkspanTesting
internal import TestSupport
internal import Testing

/// Damages the files of an outbox by seed, and compares what it finds with what was accepted.
///
/// 200 files, or those that the environment variable `TEST_DAMAGES` names: so many, a range of seeds such as `201-2200`, or
/// one seed after `=`.
@Suite("An outbox on a damaged disk", .timeLimit(.minutes(60)))
struct DamageTests {
    private static let seeds = Seeds.named(ProcessInfo.processInfo.environment["TEST_DAMAGES"], or: 1...200)
    private static let accounts: [String?] = [nil, "ann"]

    /// What was accepted, by key.
    private struct Accepted {
        var waiting: [String: StoredDelivery] = [:]
        var ended: Set<String> = []
    }

    /// Keeps deliveries and ends some, and leaves the files as a killed process does, or after they were closed.
    private func fill(_ folder: Folder, _ generator: inout SeededGenerator) throws -> (Accepted, [String: Data]) {
        var accepted = Accepted()
        let driver = Driver(folder.outbox)
        for number in 1...Int.random(in: 20...60, using: &generator) {
            // Some in pages of their own.
            let size =
                Int.random(in: 0..<8, using: &generator) == 0 ? 9_000 : Int.random(in: 0...200, using: &generator)
            let payload = try Payload("\(number) \(String(repeating: "x", count: size))")
            let account = Self.accounts[Int.random(in: 0...1, using: &generator)]
            let row = try driver.keep(delivery("k\(number)", account: account, payload)).get()
            guard Int.random(in: 0..<4, using: &generator) == 0 else {
                accepted.waiting[row.key] = row
                continue
            }
            driver.end(row, .failure(LinkspanError(.messageRefused, "no")))
            accepted.ended.insert(row.key)
        }
        let isClosed = Bool.random(using: &generator)
        if isClosed { driver.shut() }
        var files: [String: Data] = [:]
        for name in folder.files where !name.hasSuffix("-shm") && !name.hasSuffix("-reserve") {
            files[name] = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(name)"))
        }
        driver.shut()
        return (accepted, files)
    }

    /// Changes a file at one place or a few.
    private func damage(_ bytes: inout Data, _ generator: inout SeededGenerator) -> String {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0..<3:
            let places = (1...3).map { _ in Int.random(in: 0..<bytes.count, using: &generator) }
            for place in places { bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &generator) }
            return "flips at \(places)"
        case 3:
            let place = Int.random(in: 0..<min(100, bytes.count), using: &generator)
            bytes[place] = UInt8.random(in: 0...255, using: &generator)
            return "byte \(place) of the header"
        case 4..<6:
            let end = min(bytes.count, place + Int.random(in: 1...64, using: &generator))
            for place in place..<end { bytes[place] = UInt8.random(in: 0...255, using: &generator) }
            return "overwritten from \(place) to \(end)"
        case 6:
            bytes = bytes.prefix(place)
            return "cut at \(place)"
        default:
            let page = place / 4_096 * 4_096
            let end = min(bytes.count, page + 4_096)
            bytes.replaceSubrange(page..<end, with: Data(count: end - page))
            return "page at \(page) zeroed"
        }
    }

    @Test
    func
        `of damaged files each row is sent as it was accepted, has an outcome or is reported, and each is replaced once`()
        throws
    {
        var (replaced, refused, altered, missing) = (0, 0, 0, 0)
        for seed in Self.seeds {
            var generator = SeededGenerator(seed: seed)
            var (accepted, files) = try self.fill(try Folder(), &generator)
            let names = files.keys.filter { !$0.hasSuffix("-lock") || Bool.random(using: &generator) }.sorted()
            var places: [String] = []
            for _ in 0...Int.random(in: 0...1, using: &generator) {
                guard let name = names.randomElement(using: &generator), files[name]?.isEmpty == false else { continue }
                places.append("\(name) \(self.damage(&files[name, default: Data()], &generator))")
            }
            let course = "TEST_DAMAGES==\(seed): \(places.joined(separator: ", "))"
            let folder = try Folder()
            for (name, bytes) in files { try bytes.write(to: URL(fileURLWithPath: "\(folder.path)/\(name)")) }

            let driver = Driver(folder.outbox)
            let answer = driver.keep(delivery("new"))
            // A file that says that another program or version has written it stays as it is.
            if let code = answer.outboxCode {
                #expect([.newerSchema, .notAnOutbox].contains(code), "\(course): \(answer)")
                refused += 1
                continue
            }
            var found: [String: StoredDelivery] = [:]
            for account in Self.accounts {
                try driver.open(account).get()
                for row in try driver.load(account, bytes: .max).get() where row.outcome == nil { found[row.key] = row }
                driver.close(account)
            }
            found["new"] = nil
            for (key, row) in found where !accepted.ended.contains(key) {
                let former = accepted.waiting[key]
                #expect(former?.payload == row.payload && former?.event == row.event, "\(course): \(key)")
                #expect(former?.orderingKey == row.orderingKey && former?.account == row.account, "\(course): \(key)")
            }
            let reports = driver.reports.map(\.message)
            let isReported = reports.contains { $0.contains("moved aside") || $0.contains("are missing") }
            accepted.waiting = accepted.waiting.filter { found[$0.key] == nil }
            let lost = accepted.waiting.count - reports.count { $0.contains("cannot be read") }
            #expect(lost <= 0 || isReported, "\(course): \(accepted.waiting.keys.sorted())")
            replaced += reports.contains { $0.contains("moved aside") } ? 1 : 0
            altered += reports.count { $0.contains("cannot be read") }
            missing += reports.contains { $0.contains("are missing from") } ? 1 : 0

            // Each outcome is recorded, and the next process finds a file in order.
            for row in found.values { driver.end(row, .success(.empty)) }
            driver.shut()
            let next = Driver(folder.outbox)
            #expect(try Self.accounts.flatMap(next.waiting) == ["new"], "\(course): sent again")
            #expect(next.reports.isEmpty, "\(course): \(next.reports)")
            next.shut()
        }
        print(
            "damaged files: seeds \(Self.seeds.lowerBound) to \(Self.seeds.upperBound), \(replaced) replaced,",
            "\(missing) logs with losses, \(altered) altered rows, \(refused) refused")
        #expect(refused * 50 <= Self.seeds.count)
    }
}
#endif
