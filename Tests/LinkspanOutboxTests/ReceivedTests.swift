#if OUTBOX && Metrics
internal import Foundation
internal import Linkspan
internal import LinkspanInMemory
@testable import LinkspanOutbox
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("Received events in an outbox")
struct ReceivedTests {
    private let folder: Folder

    init() throws { self.folder = try Folder() }

    private func driver(_ configure: (inout OutboxOptions) -> Void = { _ in }) -> Driver {
        Driver(self.folder.outbox, configure)
    }

    // MARK: Sessions

    @Test
    func `a session is there for the next process, for the first who opens the account, and until it is erased`() throws
    {
        let session = StoredSession(resumption: Secret("secret:7"))
        let first = self.driver()
        try first.open("ann").get()
        #expect(try first.session("ann").get() == nil)
        first.together { $0.keep(session, account: "ann") }
        first.shut()
        let next = self.driver()
        #expect(try next.session("ann").get() == nil, "not open")
        try next.open("ann").get()
        #expect(try next.session("ann").get() == session)
        #expect(try next.session("ann").get() == nil, "asked before")
        try next.open("bob").get()
        #expect(try next.session("bob").get() == nil)
        next.erase("ann")
        next.close("ann")
        try next.open("ann").get()
        #expect(try next.session("ann").get() == nil)
    }

    @Test
    func `a connection that waits for the file gets no session at once`() throws {
        let first = self.driver()
        try first.open().get()
        let second = self.driver { $0.waitsWhenInUse = true }
        let opened = Lock(false)
        let session = Lock<Result<StoredSession?, any Error>?>(nil)
        second.together { outbox in
            outbox.open(account: nil) { _ in opened.withLock { $0 = true } }
            outbox.session(account: nil) { answer in session.withLock { $0 = answer } }
        }
        #expect(session.withLock { $0 }?.outboxCode == .inUse)
        #expect(!opened.withLock { $0 })
        first.shut()
        second.together { $0.performCalls() }
        #expect(opened.withLock { $0 })
    }

    @Test
    func `sessions and received events are sealed, and opened by the next process`() throws {
        let cipher = XORCipher()
        let first = self.driver { $0.cipher = cipher }
        try first.open().get()
        first.together { $0.keep(StoredSession(resumption: Secret("very secret session")), account: nil) }
        #expect(first.record(Message(event: "line", payload: try Payload("very secret text"))))
        let files = self.folder.files.map { "\(self.folder.path)/\($0)" }
        for file in files {
            let contents = FileManager.default.contents(atPath: file) ?? Data()
            #expect(contents.range(of: Data("very secret".utf8)) == nil, "\(file)")
        }
        first.shut()
        let next = self.driver { $0.cipher = cipher }
        try next.open().get()
        #expect(try next.session().get()?.resumption?.exposed == "very secret session")
        #expect(next.received().count == 1)
    }

    // MARK: Events

    @Test
    func `a restarted process is offered what was received and not confirmed, and the mark of what was missed`()
        async throws
    {
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.on("hello") { $0.reply(.empty) } }
        let manager = ConnectionManager()
        let outbox = Outbox(path: self.folder.outbox)
        let handler = try ConnectionBuilder("memory://server").transport(.inMemory(hub)).options { $0.store = outbox }
            .connect(by: manager)
        try outbox.record("line", of: handler)
        _ = try await handler.deliver("hello")
        for number in 1...3 { hub.emit("line", try Payload(number)) }
        var texts: [String] = []
        for try await entry in outbox.received() {
            texts.append(entry.text)
            if texts.count == 1 { #expect(try await outbox.confirm(entry)) }
            if texts.count == 3 { break }
        }
        #expect(texts == ["1", "2", "3"])
        await manager.shutdown()
        await outbox.close()
        // The hub resumes nothing: between the sessions something may be missing.
        let next = Outbox(path: self.folder.outbox)
        let manager2 = ConnectionManager()
        let handler2 = try ConnectionBuilder("memory://server").transport(.inMemory(hub)).options { $0.store = next }
            .connect(by: manager2)
        try next.record("line", of: handler2)
        _ = try await handler2.deliver("hello")
        hub.emit("line", try Payload(4))
        texts = []
        for try await entry in next.received() {
            texts.append(entry.text)
            try await next.confirm(entry)
            if texts.count == 4 { break }
        }
        #expect(texts == ["2", "3", "gap", "4"])
        #expect(try await next.figures().received == 0)
        await manager2.shutdown()
        await next.close()
    }

    @Test(.timeLimit(.minutes(1)))
    func `events belong to the account that the connection has when they come, also after a move`() async throws {
        let (hub, manager) = (InMemoryHub(), ConnectionManager())
        hub.onConnect { peer in peer.on("hello") { $0.reply(.empty) } }
        let outbox = Outbox(path: self.folder.outbox)
        let builder = ConnectionBuilder("memory://server").transport(.inMemory(hub))
            .options { $0.store = outbox }
        let handler = try builder.credentials(.fixed(try Credentials(auth: ["name": "ann"]), account: "ann"))
            .connect(by: manager)
        try outbox.record("line", of: handler)
        _ = try await handler.deliver("hello")
        hub.emit("line", try Payload(1))
        for try await entry in outbox.received(account: "ann") {
            #expect(entry.text == "1")
            break
        }
        let bob = builder.credentials(.fixed(try Credentials(auth: ["name": "bob"]), account: "bob"))
        try manager.move(handler, to: bob.build())
        _ = try await handler.deliver("hello")
        hub.emit("line", try Payload(2))
        var texts: [String] = []
        for try await entry in outbox.received(account: "bob") {
            texts.append(entry.text)
            if entry.text == "2" { break }
        }
        #expect(texts.allSatisfy { $0 != "1" })
        #expect(try await outbox.figures().received == 1 + texts.count)
        await manager.shutdown()
        await outbox.close()
    }

    @Test
    func `a listener that moves to another user leaves them neither the message nor the session`() throws {
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler) { _ in .init { $0.tellsResumption = true } }
        let manager = ConnectionManager(options: .init { $0.scheduler = scheduler })
        let driver = self.driver()
        let builder = ConnectionBuilder("scripted://server").transport(transport)
            .options { [outbox = driver.outbox] in $0.store = outbox }
        let handler = try builder.credentials(.fixed(try Credentials(auth: ["name": "ann"]), account: "ann"))
            .connect(by: manager)
        let bob = try builder.credentials(.fixed(try Credentials(auth: ["name": "bob"]), account: "bob")).build()
        try handler.on("line") { _ in #expect(throws: Never.self) { try manager.move(handler, to: bob) } }
        try driver.outbox.record("line", of: handler)
        scheduler.settle()
        transport.openPeers.first?.emit("line", try Payload(1))
        scheduler.settle()
        #expect(transport.peers.count == 2)
        #expect(transport.peers.allSatisfy { $0.request.resumption == nil })
        #expect(!driver.received("bob").contains { $0.text == "1" })
    }

    @Test
    func `events without room are dropped, and a gap has their number in their place`() throws {
        let driver = self.driver { $0.received = 2 }
        for number in 1...4 { driver.record(Message(event: "line", payload: try Payload(number))) }
        #expect(driver.received().map(\.text) == ["1", "2"])
        for entry in driver.received() { #expect(driver.confirm(entry)) }
        driver.record(Message(event: "line", payload: try Payload(5)))
        #expect(driver.received().map(\.text) == ["gap of 2", "5"])
    }

    @Test
    func `an event is confirmed once`() async throws {
        let driver = self.driver()
        for number in 1...2 { driver.record(Message(event: "line", payload: try Payload(number))) }
        let first = try #require(driver.received().first)
        #expect([driver.confirm(first), driver.confirm(first)] == [true, false])
        #expect(try await driver.outbox.figures().received == 1)
    }

    @Test
    func `at the limit each lost event is told once, and places that come free go to events`() throws {
        let driver = self.driver { $0.received = 2 }
        var told: [String] = []
        for number in 1...4 { driver.record(Message(event: "line", payload: try Payload(number))) }
        for number in 5...12 {
            let oldest = try #require(driver.received().first)
            told.append(oldest.text)
            #expect(driver.confirm(oldest))
            driver.record(Message(event: "line", payload: try Payload(number)))
        }
        told += driver.received().map(\.text)
        // Of 12 events, those that were missed are counted in the marks.
        #expect(told == ["1", "2", "gap of 3", "6", "7", "8", "9", "10", "11", "12"])
    }

    @Test
    func `with room for one event a mark and the next event follow when that was confirmed`() throws {
        let driver = self.driver { $0.received = 1 }
        for number in 1...3 { driver.record(Message(event: "line", payload: try Payload(number))) }
        #expect(driver.received().map(\.text) == ["1"])
        for entry in driver.received() { #expect(driver.confirm(entry)) }
        driver.record(Message(event: "line", payload: try Payload(4)))
        #expect(driver.received().map(\.text) == ["gap of 2", "4"])
    }

    @Test
    func `events of one transaction stay in their order when the first of them has no room`() throws {
        let driver = self.driver { $0.received = 2 }
        for number in 1...3 { driver.record(Message(event: "line", payload: try Payload(number))) }
        #expect(driver.confirm(try #require(driver.received().first)))
        let messages = try [4, 5].map { Message(event: "line", payload: try Payload($0)) }
        driver.together { outbox in
            for message in messages { outbox.record(.message(message), account: nil, nil) }
        }
        #expect(driver.received().map(\.text) == ["2"])
        #expect(driver.confirm(try #require(driver.received().first)))
        driver.record(Message(event: "line", payload: try Payload(6)))
        #expect(driver.received().map(\.text) == ["gap of 3", "6"])
    }

    @Test
    func `the session that an event is recorded with is resumed behind it`() throws {
        let first = self.driver()
        try first.open().get()
        first.together { $0.keep(StoredSession(resumption: Secret("s:1")), account: nil) }
        first.record(Message(event: "line", payload: .empty), Secret("s:2"))
        first.shut()
        let next = self.driver()
        try next.open().get()
        #expect(try next.session().get()?.resumption?.exposed == "s:2")
        #expect(next.received().count == 1)
    }

    @Test
    func `a file of the first version can be listed, gets the later tables and columns, and keeps its rows`() throws {
        let first = self.driver()
        _ = try first.keep(delivery("a")).get()
        first.shut()
        try Database.execute(
            """
            DROP TABLE received; DROP TABLE received_session; PRAGMA user_version = 1;
            ALTER TABLE delivery DROP COLUMN checksum; ALTER TABLE session DROP COLUMN last;
            """, in: self.folder.outbox)
        #expect(try Outbox.entries(at: self.folder.outbox).map(\.delivery.key) == ["a"])
        let next = self.driver()
        #expect(try next.waiting() == ["a"])
        #expect(next.reports.isEmpty)
        next.record(Message(event: "line", payload: .empty))
        #expect(next.received().count == 1)
    }
}

@Suite("Keys that count")
struct CountedKeyTests {
    @Test
    func `made keys count within their ordering key and account, and each opening has its own`() throws {
        let folder = try Folder()
        var sessions: Set<String> = []
        var producers: Set<String> = []
        for _ in 0..<2 {
            let driver = Driver(folder.outbox) { $0.countsKeys = true }
            var keys: [[Substring]] = []
            for (account, orderingKey) in [("ann", "a"), ("ann", "a"), ("ann", "b"), ("bob", "a"), ("ann", "a")] {
                var row = delivery("made\(keys.count)\(sessions.count)", account: account, orderingKey: orderingKey)
                row.hasMadeKey = true
                keys.append(try driver.keep(row).get().key.split(separator: "."))
            }
            #expect(keys.map { $0[2...].joined(separator: ".") } == ["1.1", "1.2", "2.1", "3.1", "1.3"])
            #expect(Set(keys.map { $0[1] }).count == 1)
            producers.insert(String(keys[0][0]))
            sessions.insert(String(keys[0][1]))
            // One of the app's own stays.
            #expect(try driver.keep(delivery("own \(sessions.count)")).get().key.hasPrefix("own"))
            driver.shut()
        }
        #expect(producers.count == 1)
        #expect(sessions.count == 2)
    }

    @Test(arguments: [true, false])
    func `a delivery cancelled before its commit has ended in the file, one that a move left waits there`(
        isCancelled: Bool
    ) throws {
        let folder = try Folder()
        defer { withExtendedLifetime(folder) {} }
        let driver = Driver(folder.outbox) { $0.countsKeys = true }
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler)
        let manager = ConnectionManager(options: .init { $0.scheduler = scheduler })
        let builder = ConnectionBuilder("scripted://server").transport(transport)
            .options { [outbox = driver.outbox] in $0.store = outbox }
        let handler = try builder.credentials(.fixed(try Credentials(auth: ["name": "ann"]), account: "ann"))
            .connect(by: manager)
        let bob = try builder.credentials(.fixed(try Credentials(auth: ["name": "bob"]), account: "bob")).build()
        // All in one turn, so that no commit comes between.
        try handler.on("go") { _ in
            #expect(throws: Never.self) {
                try handler.perform(Command(.deliver(orderingKey: "room"), event: "say", payload: .empty))
                if isCancelled {
                    handler.cancelCommands { $0.event == "say" }
                } else {
                    try manager.move(handler, to: bob)
                }
            }
        }
        scheduler.settle()
        transport.openPeers.first?.emit("go")
        scheduler.settle()
        #expect(transport.received.isEmpty)
        #expect(driver.outbox.waitingCount == (isCancelled ? 0 : 1))
    }

    @Test
    func `a delivery is sent with the key that the outbox gave it, and found by that key`() async throws {
        let folder = try Folder()
        let hub = InMemoryHub()
        let sent = Lock<[String]>([])
        hub.onConnect { peer in
            peer.onDelivery("say") { message in
                sent.withLock { $0.append(message.payload.values.last?.string ?? "none") }
                return message.payload
            }
        }
        let outbox = Outbox(path: folder.outbox) { $0.countsKeys = true }
        let manager = ConnectionManager()
        let handler = try ConnectionBuilder("memory://server").transport(.inMemory(hub)).options {
            $0.store = outbox
            $0.deliveries.keyPlacement = .lastArgument
        }.connect(by: manager)
        let key = try await handler.enqueue("say", 1)
        let reply = try await handler.outcome(of: key)
        #expect(reply[0]?.int == 1)
        #expect(key.hasSuffix(".1.1"))
        #expect(sent.withLock { $0 } == [key])
        await manager.shutdown()
        await outbox.close()
    }
}

extension ReceivedEntry {
    /// What it is, in short.
    var text: String {
        switch self.item {
        case .message(let message): String(decoding: message.payload.elements, as: UTF8.self)
        case .continuity(.gap(.overflow(let missed))): "gap of \(missed)"
        case .continuity: "gap"
        }
    }
}

/// Seals well enough to tell sealed text from plain.
private struct XORCipher: OutboxCipher {
    func seal(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] { bytes.map { $0 ^ 0x5A } }
    func open(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] { bytes.map { $0 ^ 0x5A } }
}
#endif
