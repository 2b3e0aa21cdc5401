#if OUTBOX && Metrics
internal import Linkspan
@testable import LinkspanOutbox
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@Suite("Outbox")
struct OutboxTests {
    private let folder: Folder

    init() throws { self.folder = try Folder() }

    private func driver(_ configure: (inout OutboxOptions) -> Void = { _ in }) -> Driver {
        Driver(self.folder.outbox, configure)
    }

    // MARK: What is kept

    @Test
    func `a kept delivery is there for the next process, with all its parts`() throws {
        let payload = Payload(
            trustedElements: Array(#""text",{"_placeholder":true,"num":0}"#.utf8)[...],
            attachments: [[1, 2, 3], Array(repeating: 7, count: 300)[...]])
        var row = delivery("k", account: "ann", orderingKey: "room 7", payload, timeout: .seconds(90))
        row.event = "say"
        let kept = try self.driver().keep(row).get()
        #expect(kept.number == 1)
        let next = self.driver()
        try next.open("ann").get()
        let loaded = try #require(try next.load("ann").get().first)
        #expect(loaded.key == "k")
        #expect(loaded.account == "ann")
        #expect(loaded.orderingKey == "room 7")
        #expect(loaded.event == "say")
        #expect(loaded.payload == payload)
        #expect(loaded.number == 1)
        #expect(loaded.outcome == nil)
        let left = try #require(loaded.timeout)
        #expect(left > .seconds(60) && left <= .seconds(90))
    }

    @Test
    func `rows come in the order of the calls, in pages, up to those of the opening`() throws {
        let driver = self.driver()
        for number in 1...10 { _ = driver.keep(delivery("\(number)")) }
        try driver.open().get()
        _ = driver.keep(delivery("11"))
        #expect(try driver.load(rows: 4).get().map(\.key) == ["1", "2", "3", "4"])
        #expect(try driver.load(after: 4, rows: 100).get().map(\.key) == ["5", "6", "7", "8", "9", "10"])
        #expect(try driver.load(after: 10).get().isEmpty)
        driver.close()
        try driver.open().get()
        #expect(try driver.load(after: 10).get().map(\.key) == ["11"])
    }

    @Test
    func `a page ends before the bytes do, and has one row at least`() throws {
        let driver = self.driver()
        let payload = Payload(trustedElements: Array("\"\(String(repeating: "x", count: 98))\"".utf8)[...])
        for number in 1...5 { _ = driver.keep(delivery("\(number)", payload)) }
        try driver.open().get()
        #expect(try driver.load(bytes: 250).get().map(\.key) == ["1", "2"])
        #expect(try driver.load(bytes: 10).get().map(\.key) == ["1"])
    }

    @Test
    func `the same key is the same row within an account`() throws {
        let driver = self.driver()
        #expect(try driver.keep(delivery("k", account: "ann")).get().number == 1)
        #expect(try driver.keep(delivery("k", account: "bob")).get().number == 2)
        var again = delivery("k", account: "ann")
        again.event = "another"
        let row = try driver.keep(again).get()
        #expect(row.number == 1)
        #expect(row.event == "event k")
        driver.end(row, .success(.empty))
        guard case .success = try driver.keep(again).get().outcome else {
            Issue.record("the outcome is missing")
            return
        }
        #expect(try driver.waiting("ann").isEmpty)
        #expect(try driver.waiting("bob") == ["k"])
    }

    @Test
    func `the next process sends what one process left, with replies as outcomes`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.on("say") { $0.reply($0.payload) } }
        let manager = ConnectionManager()
        let former = Outbox(path: self.folder.outbox)
        hub.cut()
        let handler = try ConnectionBuilder("memory://server").transport(.inMemory(hub)).options { $0.store = former }
            .connect(by: manager)
        let receipts = [
            try await handler.enqueue("say", 1, orderingKey: "room"),
            try await handler.enqueue("say", 2, orderingKey: "room"),
        ]
        await manager.shutdown()
        await former.close()
        hub.restore()
        let next = Outbox(path: self.folder.outbox)
        let manager2 = ConnectionManager()
        let handler2 = try ConnectionBuilder("memory://server").transport(.inMemory(hub)).options { $0.store = next }
            .connect(by: manager2)
        #expect(try await handler2.outcome(of: receipts[0]).decode(Int.self) == 1)
        #expect(try await handler2.outcome(of: receipts[1]).decode(Int.self) == 2)
        await manager2.shutdown()
        await next.close()
    }

    // MARK: Accounts

    @Test
    func `an account is open for one connection, and then for the one that has waited longest`() throws {
        let driver = self.driver()
        let events = Lock<[String]>([])
        driver.together { outbox in
            for name in ["first", "second", "third"] {
                outbox.open(account: "ann") { _ in events.withLock { $0.append(name) } }
            }
            outbox.open(account: nil) { _ in events.withLock { $0.append("nobody") } }
        }
        #expect(events.withLock { $0 } == ["first", "nobody"])
        driver.close("ann")
        #expect(events.withLock { $0 } == ["first", "nobody", "second"])
        driver.close("ann")
        #expect(events.withLock { $0 } == ["first", "nobody", "second", "third"])
    }

    @Test
    func `the next connection of an account gets what the one before has kept and not sent`() throws {
        let driver = self.driver()
        driver.together { outbox in
            for _ in 0..<2 { outbox.open(account: "ann") { _ in } }
        }
        _ = driver.keep(delivery("left behind", account: "ann"))
        #expect(try driver.load("ann").get().isEmpty, "it is the first connection's own")
        driver.close("ann")
        #expect(try driver.load("ann").get().map(\.key) == ["left behind"])
    }

    @Test
    func `accounts see their own rows, the nameless one and one with an empty name included`() throws {
        let driver = self.driver()
        let accounts = [nil, "", "ann", "@ann"]
        for account in accounts { _ = driver.keep(delivery("of \(account ?? "nobody")", account: account)) }
        for account in accounts { #expect(try driver.waiting(account) == ["of \(account ?? "nobody")"]) }
        driver.erase("ann")
        #expect(try driver.waiting("ann").isEmpty)
        #expect(try driver.waiting("@ann") == ["of @ann"])
        #expect(try driver.find("of ann", "ann").get() == nil)
    }

    // MARK: Outcomes

    @Test
    func `outcomes stay over restarts until they are confirmed`() async throws {
        let driver = self.driver()
        let reply = Payload(trustedElements: Array("42".utf8)[...])
        let outcomes: [(String, Result<Payload, LinkspanError>, DeliveryFate)] = [
            ("a", .success(reply), .delivered),
            (
                "b", .failure(LinkspanError(.messageRefused, "too odd", certainty: .unknown, details: reply)), .rejected
            ),
            ("c", .failure(LinkspanError(.timedOut, "too late", certainty: .notSent)), .expired),
            ("d", .failure(LinkspanError(.cancelled, "given up")), .cancelled),
        ]
        for (key, outcome, _) in outcomes {
            driver.end(try driver.keep(delivery(key, account: "ann")).get(), outcome)
        }
        await driver.outbox.close()
        let last = self.driver()
        let (next, entries) = (last.outbox, last.outcomes("ann"))
        #expect(entries.map(\.delivery.key) == ["a", "b", "c", "d"])
        #expect(entries.map(\.fate) == outcomes.map(\.2))
        guard case .success(let answer) = entries[0].delivery.outcome,
            case .failure(let refusal) = entries[1].delivery.outcome,
            case .failure(let expiry) = entries[2].delivery.outcome
        else {
            Issue.record("other outcomes")
            return
        }
        #expect(answer == reply)
        #expect(refusal.code == .messageRefused)
        #expect(refusal.message == "too odd")
        #expect(refusal.certainty == .unknown)
        #expect(refusal.details == reply)
        #expect(expiry.certainty == .notSent)
        #expect(last.outcomes("bob").isEmpty)
        #expect(try await next.confirm(key: "a", account: "ann"))
        #expect(try await !next.confirm(key: "a", account: "ann"))
        #expect(last.outcomes("ann").map(\.delivery.key) == ["b", "c", "d"])
    }

    @Test
    func `the sequence of outcomes brings those there are, then new ones, and ends with its task`() async throws {
        let driver = self.driver()
        driver.end(try driver.keep(delivery("a")).get(), .success(.empty))
        let outbox = driver.outbox
        let seen = AsyncStream<String>.makeStream()
        let task = Task {
            for try await entry in outbox.outcomes() { seen.continuation.yield(entry.delivery.key) }
            seen.continuation.finish()
        }
        var keys = seen.stream.makeAsyncIterator()
        #expect(await keys.next() == "a")
        driver.end(try driver.keep(delivery("b")).get(), .success(.empty))
        #expect(await keys.next() == "b")
        task.cancel()
        #expect(await keys.next() == nil)
        // Not confirmed: the next sequence has both again.
        #expect(driver.outcomes().map(\.delivery.key) == ["a", "b"])
    }

    @Test
    func `figures say what waits and for how long`() async throws {
        let clock = TestClock()
        let driver = Driver(self.folder.outbox, clock: clock.clock)
        #expect(try await driver.outbox.figures().oldest == nil)
        for key in ["a", "b", "c"] { _ = driver.keep(delivery(key, account: key)) }
        driver.end(delivery("c", account: "c"), .success(.empty))
        clock.advance(wall: 7_000, sinceStart: 7_000)
        let figures = try await driver.outbox.figures()
        #expect(
            figures == OutboxFigures(waiting: 2, bytes: 16, oldest: .seconds(7), outcomes: 1, setAside: 0, received: 0))
        let own = try await driver.outbox.figures(account: "a")
        #expect(own == OutboxFigures(waiting: 1, bytes: 8, oldest: .seconds(7), outcomes: 0, setAside: 0, received: 0))
    }

    @Test
    func `a connection explains what its outbox holds, and what was set aside is kept with its reply`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.on("say") { $0.reply(Payload(trustedElements: Array("\"busy\"".utf8)[...])) } }
        let outbox = Outbox(path: self.folder.outbox)
        let manager = ConnectionManager()
        let handler = try ConnectionBuilder("memory://server").transport(.inMemory(hub)).options {
            $0.store = outbox
            $0.deliveries.replies = ReplyPolicy { _ in .later }
            $0.deliveries.refusals = 1
        }.connect(by: manager)
        let key = try await handler.enqueue("say", 1)
        let failure = await #expect(throws: LinkspanError.self) { try await handler.outcome(of: key) }
        #expect(failure?.code == .setAside)
        #expect(failure?.details?[0]?.string == "busy")
        let entry = try #require(try await outbox.entries().first)
        #expect(entry.fate == .setAside)
        #expect(entry.delivery.payload[0]?.int == 1)
        #expect(try await outbox.figures().setAside == 1)
        #expect(handler.explain().contains("The outbox holds deliveries: 0 that wait, 1 set aside."))
        #expect(try await outbox.retry(key: key))
        #expect(try await outbox.figures().setAside == 0)
        await manager.shutdown()
        await outbox.close()
    }

    @Test
    func `how often the server has asked for later outlives the process, until the app has it sent again`() async throws
    {
        let first = self.driver()
        var row = try first.keep(delivery("k", account: "ann")).get()
        row.refusals = 7
        let counted = row
        first.together { $0.postpone(counted) }
        first.shut()
        let next = self.driver()
        #expect(try #require(try next.find("k", "ann").get()).refusals == 7)
        next.end(row, .failure(LinkspanError(.setAside, "busy")))
        // Too late to count.
        row.refusals = 8
        let late = row
        next.together { $0.postpone(late) }
        #expect(next.outcomes("ann").map(\.delivery.refusals) == [7])
        #expect(try await next.outbox.retry(key: "k", account: "ann"))
        #expect(try #require(try next.find("k", "ann").get()).refusals == 0)
    }

    @Test
    func `the oldest delivery is found behind those that ended, and before them when one waits again`() async throws {
        let clock = TestClock()
        let driver = Driver(self.folder.outbox, clock: clock.clock)
        for key in ["a", "b", "c"] {
            _ = driver.keep(delivery(key))
            clock.advance(wall: 1_000, sinceStart: 1_000)
        }
        let oldest = { try await driver.outbox.figures().oldest }
        #expect(try await oldest() == .seconds(3))
        driver.end(delivery("b"), .failure(LinkspanError(.messageRefused, "odd")))
        driver.end(delivery("a"), .failure(LinkspanError(.messageRefused, "odd")))
        #expect(try await oldest() == .seconds(1))
        #expect(try await driver.outbox.retry(key: "b"))
        // Its time begins anew, and its place is the former one.
        clock.advance(wall: 500, sinceStart: 500)
        #expect(try await oldest() == .milliseconds(500))
        #expect(try await driver.outbox.erase(key: "b"))
        #expect(try await oldest() == .milliseconds(1_500))
    }

    @Test
    func `a hub that recognises keys applies each once, and repeats its first answer`() async throws {
        let (hub, applied) = (InMemoryHub(), Lock(0))
        hub.onConnect { peer in
            peer.onDelivery("say") { _ in
                let count = applied.withLock { count in
                    count += 1
                    return count
                }
                return Payload(trustedElements: Array("\(count)".utf8)[...])
            }
        }
        var replies: [Int?] = []
        for key in ["a", "b", "a"] {
            // Each over another link.
            let manager = ConnectionManager()
            let handler = try ConnectionBuilder("memory://server").transport(.inMemory(hub)).options {
                $0.deliveries.keyPlacement = .lastArgument
            }.connect(by: manager)
            replies.append(try await handler.deliver("say", 1, key: key)[0]?.int)
            await manager.shutdown()
        }
        #expect(replies == [1, 2, 1])
        #expect(applied.withLock { $0 } == 2)
    }

    @Test
    func `a line that failed can wait again in its place, and any row can be erased`() async throws {
        let driver = self.driver()
        for key in ["a", "b", "c"] { _ = driver.keep(delivery(key)) }
        driver.end(delivery("a"), .failure(LinkspanError(.messageRefused, "odd")))
        driver.end(delivery("b"), .success(.empty))
        let (outbox, path) = (driver.outbox, self.folder.outbox)
        #expect(try Outbox.entries(at: path).map(\.fate) == [.rejected, .delivered, nil])
        #expect(try await outbox.retry(key: "a"))
        // The server has it.
        #expect(try await !outbox.retry(key: "b"))
        #expect(try driver.waiting() == ["a", "c"])
        #expect(try await outbox.erase(key: "c"))
        #expect(try await !outbox.erase(key: "c"))
        #expect(try await outbox.figures().waiting == 1)
        #expect(try await outbox.entries().map(\.delivery.key) == ["a", "b"])
    }

    @Test
    func `an outcome is recorded once, and a delivery that waits cannot be confirmed`() async throws {
        let driver = self.driver()
        let row = try driver.keep(delivery("k")).get()
        #expect(try await !driver.outbox.confirm(key: "k"))
        driver.end(row, .success(.empty))
        driver.end(row, .failure(LinkspanError(.cancelled, "later")))
        driver.end(delivery("unknown"), .success(.empty))
        let entries = driver.outcomes()
        #expect(entries.map(\.fate) == [.delivered])
    }

    @Test
    func `beyond its limit the oldest outcomes make room`() async throws {
        let driver = self.driver { $0.outcomes = 3 }
        for number in 1...5 { driver.end(try driver.keep(delivery("\(number)")).get(), .success(.empty)) }
        #expect(driver.outcomes().map(\.delivery.key) == ["3", "4", "5"])
        #expect(try driver.find("1").get() == nil)
        // What was confirmed has made room.
        for key in ["4", "5"] { _ = driver.confirm(key) }
        for number in 6...7 { driver.end(try driver.keep(delivery("\(number)")).get(), .success(.empty)) }
        #expect(driver.outcomes().map(\.delivery.key) == ["3", "6", "7"])
    }

    // MARK: Limits

    @Test
    func `what was set aside is counted by the next process, until another outcome takes its place`() async throws {
        let driver = self.driver { $0.outcomes = 1 }
        for key in ["1", "2"] { _ = driver.keep(delivery(key)) }
        driver.end(delivery("1"), .failure(LinkspanError(.setAside, "busy")))
        #expect(try await driver.outbox.figures().setAside == 1)
        let next = self.driver { $0.outcomes = 1 }
        _ = consume driver
        #expect(try await next.outbox.figures().setAside == 1)
        next.end(delivery("2"), .success(.empty))
        #expect(try await next.outbox.figures().setAside == 0)
    }

    @Test
    func `deliveries are accepted up to the last byte`() throws {
        let one = delivery("1")
        let size = one.event.utf8.count + one.key.utf8.count + one.payload.byteCount
        #expect(self.driver { $0.bytes = size - 1 }.keep(delivery("1")).outboxCode == .full)
        #expect(try self.driver { $0.bytes = size }.keep(delivery("1")).get().number == 1)
    }

    @Test
    func `deliveries beyond the limits are refused, and an outcome makes room again`() throws {
        let driver = self.driver {
            $0.rows = 2
            $0.bytes = 100
        }
        let first = try driver.keep(delivery("1")).get()
        _ = driver.keep(delivery("2"))
        #expect(driver.keep(delivery("3")).outboxCode == .full)
        // A key that is there already needs no room.
        #expect(try driver.keep(delivery("2")).get().number == 2)
        driver.end(first, .success(.empty))
        let large = Payload(trustedElements: Array("\"\(String(repeating: "x", count: 100))\"".utf8)[...])
        #expect(driver.keep(delivery("4", large)).outboxCode == .full)
        #expect(try driver.keep(delivery("3")).get().number == 3)
        // Counted anew by the next process.
        let next = self.driver { $0.rows = 2 }
        _ = consume driver
        #expect(try next.waiting() == ["2", "3"])
        #expect(next.keep(delivery("5")).outboxCode == .full)
    }
}
#endif
