#if OUTBOX && Metrics
internal import Foundation
internal import Linkspan
@testable import LinkspanOutbox
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

/// Replays what an outbox has had written, up to each step, as a disk may hold it when power is lost there: what was
/// synced, and any of the rest in any order, in part too.
///
/// 400 remains, or as many as the environment variable `TEST_REMAINS` says; `all` is all of them, and of more than six
/// steps that are not certain 64 choices.
@Suite("An outbox after loss of power", .timeLimit(.minutes(60)))
struct PowerLossTests {
    /// What was promised up to some step.
    private struct Promises {
        var kept: Set<String> = []
        var ended: Set<String> = []
        var begun: Set<String> = []
        var confirmed: Set<String> = []
        var confirming: Set<String> = []

        mutating func take(_ mark: String) {
            let words = mark.split(separator: " ").map(String.init)
            switch words[0] {
            case "keep": self.begun.insert(words[1])
            case "kept": self.kept.insert(words[1])
            case "ended": self.ended.insert(words[1])
            case "confirm": self.confirming.insert(words[1])
            case "confirmed": self.confirmed.insert(words[1])
            default: ()
            }
        }
    }

    /// Has an outbox do all it does, the log written into the database and begun anew included.
    private func record(seed: UInt64) throws -> [RecordedDisk.Step] {
        var generator = SeededGenerator(seed: seed)
        let folder = try Folder()
        let disk = RecordedDisk(folder: folder.path)
        defer { disk.stop() }
        var rows: [StoredDelivery] = []
        var number = 0
        for _ in 0..<3 {
            let driver = Driver(folder.outbox)
            for _ in 0..<14 {
                switch Int.random(in: 0..<10, using: &generator) {
                case 0..<6:
                    let keys = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                        number += 1
                        return "k\(number)"
                    }
                    // Some of them make the log long enough to be written into the database.
                    let size = Int.random(in: 0..<10, using: &generator) == 0 ? 700_000 : 3_000
                    let payload = Payload(
                        trustedElements: Array("\"\(String(repeating: "x", count: size))\"".utf8)[...])
                    for key in keys { disk.mark("keep \(key)") }
                    let kept = Lock<[StoredDelivery]>([])
                    driver.together { outbox in
                        for key in keys {
                            outbox.keep(delivery(key, payload)) { result in
                                guard let row = try? result.get() else { return }
                                kept.withLock { $0.append(row) }
                                disk.mark("kept \(row.key)")
                            }
                        }
                    }
                    rows += kept.withLock { $0 }
                case 6..<9:
                    guard let index = rows.indices.randomElement(using: &generator) else { continue }
                    let row = rows.remove(at: index)
                    driver.end(row, .success(.empty))
                    disk.mark("ended \(row.key)")
                    guard Bool.random(using: &generator) else { continue }
                    disk.mark("confirm \(row.key)")
                    _ = driver.confirm(row.key)
                    disk.mark("confirmed \(row.key)")
                default: _ = try driver.waiting()
                }
            }
            driver.shut()
        }
        return disk.steps
    }

    /// What the outbox finds, compared with what was promised.
    private func check(_ remains: [String: [UInt8]], _ promises: Promises, _ place: String) throws {
        let folder = try Folder()
        for (name, contents) in remains {
            try Data(contents).write(to: URL(fileURLWithPath: "\(folder.path)/\(name)"))
        }
        let driver = Driver(folder.outbox)
        defer { driver.shut() }
        let waiting = try driver.waiting()
        let outcomes = Set(driver.outcomes().map(\.delivery.key))
        #expect(!folder.files.contains { $0.contains("damaged") }, "\(place): damaged")
        let found = outcomes.union(waiting)
        let lost = promises.kept.subtracting(found).subtracting(promises.confirming)
        #expect(lost.isEmpty, "\(place): lost")
        let again = promises.ended.intersection(waiting)
        #expect(again.isEmpty, "\(place): waiting again")
        let unconfirmed = promises.confirmed.intersection(found)
        #expect(unconfirmed.isEmpty, "\(place): not confirmed")
        #expect(found.isSubset(of: promises.begun), "\(place): from nowhere")
        let numbers = waiting.compactMap { Int($0.dropFirst()) }
        #expect(numbers == numbers.sorted(), "\(place): out of order")
        // It goes on.
        _ = try driver.keep(delivery("new")).get()
    }

    private static var count: Int? {
        switch ProcessInfo.processInfo.environment["TEST_REMAINS"] {
        case "all": nil
        case let text: text.flatMap(Int.init) ?? 400
        }
    }

    /// The choices of what has reached the disk: all, if they are few; else some.
    private func choices(_ pending: Int, _ generator: inout SeededGenerator) -> [(Int) -> DiskState.Remainder] {
        if pending <= 6 { return (0..<1 << pending).map { bits in { bits >> $0 & 1 == 1 ? .all : .none } } }
        return (0..<64).map { number in
            if number == 0 { return { _ in .none } }
            if number == 1 { return { _ in .all } }
            let remainders: [DiskState.Remainder] = (0..<pending).map { _ in
                switch Int.random(in: 0..<5, using: &generator) {
                case 0, 1: .none
                case 2, 3: .all
                default: .sectors(Int.random(in: 0...8, using: &generator))
                }
            }
            return { remainders[$0] }
        }
    }

    @Test
    func `whatever has reached the disk, all that was accepted is there`() throws {
        let steps = try self.record(seed: 1)
        var generator = SeededGenerator(seed: 2)
        // How many remains there are, to take as many as wanted evenly.
        var (total, state) = (0, DiskState())
        for step in steps {
            state.take(step)
            total += min(1 << min(state.pendingCount, 6), 64)
        }
        let stride = Self.count.map { max(1, total / $0) } ?? 1
        var (number, checked, promises) = (0, 0, Promises())
        state = DiskState()
        for (index, step) in steps.enumerated() {
            state.take(step)
            if case .mark(let mark) = step { promises.take(mark) }
            for choice in self.choices(state.pendingCount, &generator) {
                number += 1
                guard number % stride == 0 else { continue }
                checked += 1
                try self.check(state.remains(choice), promises, "step \(index) of \(steps.count), remains \(number)")
            }
        }
        let syncs = steps.count { if case .sync = $0 { true } else { false } }
        print("loss of power: \(steps.count) steps, \(syncs) syncs, \(checked) of \(number) remains")
        #expect(checked > 100 && syncs > 20)
    }
}
#endif
