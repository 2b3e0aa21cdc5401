#if OUTBOX && Metrics
internal import Foundation
internal import Linkspan
@testable import LinkspanOutbox
internal import MetricsTestKit
internal import TestSupport
internal import Testing

@Suite("Sequences of an outbox while the app reads them", .timeLimit(.minutes(1)))
struct LiveSequenceTests {
    /// The sequences of an outbox.
    enum Kind: CaseIterable {
        case outcomes, received

        /// Adds an entry.
        func add(_ key: String, account: String? = nil, to driver: Driver) throws {
            switch self {
            case .outcomes: driver.end(try driver.keep(delivery(key, account: account)).get(), .success(.empty))
            case .received: driver.record(Message(event: key, payload: .empty), account: account)
            }
        }

        /// Tells the keys of an account's entries until the task is cancelled, each after it was confirmed if it is to be.
        func read(
            _ outbox: Outbox, account: String? = nil, isConfirming: Bool, _ tell: (String) -> Void
        ) async throws {
            switch self {
            case .outcomes:
                for try await entry in outbox.outcomes(account: account) {
                    if isConfirming { try await outbox.confirm(entry) }
                    tell(entry.delivery.key)
                }
            case .received:
                for try await entry in outbox.received(account: account) {
                    if isConfirming { try await outbox.confirm(entry) }
                    if case .message(let message) = entry.item { tell(message.event) }
                }
            }
        }
    }

    /// What makes an outbox open its file again.
    enum Reopening: CaseIterable {
        case suspension, suspensionWithAnotherOutbox, deletion, damage

        /// Has it happen, with the entries "4" and "5" behind it.
        func happen(to driver: Driver, at path: String, _ kind: Kind) async throws {
            switch self {
            case .suspension:
                await driver.outbox.suspend()
                driver.outbox.resume()
                try kind.add("4", to: driver)
            case .suspensionWithAnotherOutbox:
                await driver.outbox.suspend()
                let other = Driver(path)
                try kind.add("4", to: other)
                other.shut()
                driver.outbox.resume()
            case .deletion:
                try FileManager.default.removeItem(atPath: path)
                try kind.add("4", to: driver)
            case .damage:
                driver.together { outbox in
                    outbox.add { (_: inout OutboxTable) throws -> Void in
                        throw OutboxError(.corrupt, "damaged")
                    } answer: { _ in
                    }
                }
                try kind.add("4", to: driver)
            }
            try kind.add("5", to: driver)
        }
    }

    private let folder: Folder

    init() throws { self.folder = try Folder() }

    @Test(arguments: Kind.allCases)
    func `a sequence without an entry waits, whatever other accounts have, and brings the next one`(
        _ kind: Kind
    ) async throws {
        let metrics = TestMetrics()
        let driver = Driver(self.folder.outbox, metrics: metrics)
        let outbox = driver.outbox
        // One that was confirmed, too.
        for account in ["ann", "bob"] { try kind.add("first", account: account, to: driver) }
        #expect(driver.confirm("first", "bob") || driver.received("bob").allSatisfy(driver.confirm))
        let commits = { try metrics.expectTimer("linkspan_outbox_commit_time").values.count }
        let seen = AsyncStream<String>.makeStream()
        let before = try commits()
        let reader = Task {
            try await kind.read(outbox, account: "bob", isConfirming: false) { seen.continuation.yield($0) }
        }
        try await eventually { try commits() != before }
        // A reader that does not wait asks many times meanwhile.
        for _ in 0..<5_000 { await Task.yield() }
        #expect(try commits() < before + 5)
        try kind.add("next", account: "bob", to: driver)
        var keys = seen.stream.makeAsyncIterator()
        #expect(await keys.next() == "next")
        reader.cancel()
        _ = await reader.result
    }

    @Test(arguments: Kind.allCases)
    func `a reader that waits is told that the outbox was closed`(_ kind: Kind) async throws {
        let metrics = TestMetrics()
        let driver = Driver(self.folder.outbox, metrics: metrics)
        let outbox = driver.outbox
        try kind.add("first", to: driver)
        let commits = { try metrics.expectTimer("linkspan_outbox_commit_time").values.count }
        let before = try commits()
        let reader = Task { try await kind.read(outbox, account: "another", isConfirming: false) { _ in } }
        try await eventually { try commits() != before }
        for _ in 0..<100 { await Task.yield() }
        driver.shut()
        let error = await #expect(throws: OutboxError.self) { try await reader.value }
        #expect(error?.code == .closed)
    }

    @Test(arguments: Kind.allCases, Reopening.allCases)
    func `a sequence that has confirmed everything goes on after the file was opened again`(
        _ kind: Kind, _ reopening: Reopening
    ) async throws {
        let driver = Driver(self.folder.outbox)
        let outbox = driver.outbox
        let seen = AsyncStream<String>.makeStream()
        let reader = Task { try await kind.read(outbox, isConfirming: true) { seen.continuation.yield($0) } }
        for key in ["1", "2", "3"] { try kind.add(key, to: driver) }
        var keys = seen.stream.makeAsyncIterator()
        for key in ["1", "2", "3"] { #expect(await keys.next() == key) }
        try await reopening.happen(to: driver, at: self.folder.outbox, kind)
        for key in ["4", "5"] { #expect(await keys.next() == key) }
        reader.cancel()
        _ = await reader.result
    }
}
#endif
