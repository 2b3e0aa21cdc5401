internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@testable import Linkspan

@Suite("Sessions in the store")
struct StoredSessionTests {
    private func harness(
        _ store: any DeliveryStore, _ script: LinkScript = .init { $0.tellsResumption = true }
    ) throws -> Harness {
        try Harness(options: { $0.store = store }, script: { _ in script })
    }

    private func next(_ store: MemoryDeliveryStore) -> MemoryDeliveryStore {
        MemoryDeliveryStore(executor: TestExecutor(), rowsOf: store)
    }

    @Test
    func `the next process resumes the session, and hears whether that was possible`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let first = try self.harness(store)
        try first.enter(.connected)
        first.peers.first?.emit("line", .empty)
        first.scheduler.advance(by: .seconds(1))
        #expect(store.sessions[nil]?.resumption?.exposed == "1:1")
        for (isResumed, mark) in [(true, Continuity.continuous), (false, .gap(.reconnected))] {
            let marks = Lock<[Continuity]>([])
            let second = try self.harness(self.next(store), .init { $0.resumesSession = isResumed })
            try second.connection.onItems("line") { item in
                if case .continuity(let mark) = item { marks.withLock { $0.append(mark) } }
            }
            try second.enter(.connected)
            #expect(second.peers.first?.request.resumption?.exposed == "1:1")
            #expect(marks.withLock { $0 } == [mark])
        }
    }

    @Test
    func `without a session before there is no mark, and with one that cannot be resumed there is a gap`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        for marks in [[], [Continuity.gap(.reconnected)]] {
            let heard = Lock<[Continuity]>([])
            let process = self.next(store)
            let harness = try self.harness(marks.isEmpty ? store : process, .perfect)
            try harness.connection.onItems("line") { item in
                if case .continuity(let mark) = item { heard.withLock { $0.append(mark) } }
            }
            try harness.enter(.connected)
            #expect(heard.withLock { $0 } == marks)
            #expect(store.sessions[nil] == StoredSession(resumption: nil))
        }
    }

    @Test
    func `the first listener of an event is told of the former session, also when the link was up before`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        try self.harness(store).enter(.connected)
        let harness = try self.harness(self.next(store), .perfect)
        try harness.enter(.connected)
        harness.peers.first?.emit("held", .json("1"))
        harness.scheduler.settle()
        let gap = "\(Continuity.gap(.reconnected))"
        for (event, expected) in [("held", [gap, "1"]), ("quiet", [gap]), ("quiet", [])] {
            let heard = Lock<[String]>([])
            try harness.connection.onItems(event) { item in
                let text =
                    switch item {
                    case .continuity(let mark): "\(mark)"
                    case .message(let message): String(decoding: message.payload.elements, as: UTF8.self)
                    }
                heard.withLock { $0.append(text) }
            }
            harness.scheduler.settle()
            #expect(heard.withLock { $0 } == expected, "\(event)")
        }
    }

    @Test
    func `the store is updated at once, then once a second, after the listeners`() throws {
        let store = CountingStore()
        let harness = try self.harness(store)
        try harness.enter(.connected)
        #expect(store.kept == ["1:0"])
        for _ in 0..<5 {
            harness.peers.first?.emit("line", .empty)
            harness.scheduler.settle()
        }
        #expect(store.kept == ["1:0"])
        harness.scheduler.advance(by: .seconds(1))
        #expect(store.kept == ["1:0", "1:5"])
        harness.scheduler.advance(by: .seconds(5))
        try harness.connection.on("last") { _ in store.note("heard") }
        harness.peers.first?.emit("last", .empty)
        harness.scheduler.settle()
        #expect(store.kept == ["1:0", "1:5", "heard", "1:6"])
    }

    @Test
    func `a session of a user who has logged out is not resumed`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let harness = try self.harness(store)
        try harness.enter(.connected)
        harness.peers.first?.emit("line", .empty)
        harness.scheduler.advance(by: .seconds(1))
        #expect(store.sessions[nil]?.resumption != nil)
        harness.peers.first?.drop()
        harness.scheduler.settle()
        harness.connection.end(LinkspanError(.loggedOut, "the credential source was logged out"))
        harness.scheduler.advance(by: .seconds(1))
        #expect(store.sessions[nil] == StoredSession(resumption: nil))
    }

    @Test
    func `a session that the app has left is not resumed`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let harness = try self.harness(store)
        try harness.enter(.connected)
        harness.peers.first?.emit("line", .empty)
        harness.scheduler.advance(by: .seconds(1))
        try harness.connection.disconnect()
        harness.scheduler.advance(by: .seconds(1))
        #expect(store.sessions[nil] == StoredSession(resumption: nil))
    }

    @Test(arguments: [true, false])
    func `a move leaves the stored session, known or not, to the former server`(isKnown: Bool) throws {
        let store = CountingStore()
        store.holdsAnswers.withLock { $0 = true }
        let harness = try self.harness(store)
        let former = StoredSession(resumption: Secret("of the former server"))
        if isKnown { store.answer(.success(former)) }
        try harness.connection.move(
            to: ConnectionBuilder("scripted://other").transport(harness.transport).options { $0.store = store }.build())
        try harness.connection.connect()
        if !isKnown { store.answer(.success(former)) }
        harness.scheduler.settle()
        #expect(harness.connection.state == .connected)
        #expect(harness.peers.map { $0.request.resumption?.exposed } == [nil])
    }

    @Test
    func `the first attempt waits for what the store knows, and goes on without it when it fails`() throws {
        let store = CountingStore()
        store.holdsAnswers.withLock { $0 = true }
        let harness = try self.harness(store)
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(harness.peers.isEmpty)
        store.answer(.failure(CancellationError()))
        harness.scheduler.settle()
        #expect(harness.connection.state == .connected)
    }

    @Test
    func `a store that does not answer holds the first attempt up for two seconds`() throws {
        let store = CountingStore()
        store.holdsAnswers.withLock { $0 = true }
        let harness = try self.harness(store)
        try harness.connection.connect()
        harness.scheduler.advance(by: .milliseconds(1_999))
        #expect(harness.peers.isEmpty)
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.connection.state == .connected)
        store.answer(.success(StoredSession(resumption: Secret("late"))))
        harness.scheduler.settle()
        #expect(harness.peers.count == 1)
    }

    @Test
    func `of two connections of an account only the one that has it open resumes the session`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let former = try self.harness(store)
        try former.enter(.connected)
        former.peers.first?.emit("line", .empty)
        former.scheduler.advance(by: .seconds(1))
        let process = self.next(store)
        let (first, second) = (try self.harness(process), try self.harness(process))
        try first.enter(.connected)
        try second.enter(.connected)
        #expect(first.peers.first?.request.resumption != nil)
        #expect(second.peers.first?.request.resumption == nil)
    }

    @Test
    func `it is the one to resume as soon as the store has told it, before there is a link`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        store.executor.execute { store.keep(StoredSession(resumption: Secret("kept")), account: nil) }
        #expect(try self.harness(store).connection.status.resumption?.exposed == "kept")
    }
}

/// A store without rows that notes what it is told of sessions.
private final class CountingStore: DeliveryStore {
    let executor: any JobExecutor = TestExecutor()
    let holdsAnswers = Lock(false)
    private let notes = Lock<[String]>([])
    private let asked = Lock<[@Sendable (Result<StoredSession?, any Error>) -> Void]>([])

    var kept: [String] { self.notes.withLock { $0 } }

    func note(_ text: String) { self.notes.withLock { $0.append(text) } }

    func answer(_ result: Result<StoredSession?, any Error>) {
        for answer in self.asked.withLock({ $0 }) { answer(result) }
    }

    func open(account: String?, _ answer: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        answer(.success(()))
    }

    func session(account: String?, _ answer: @escaping @Sendable (Result<StoredSession?, any Error>) -> Void) {
        guard self.holdsAnswers.withLock({ $0 }) else { return answer(.success(nil)) }
        self.asked.withLock { $0.append(answer) }
    }

    func keep(_ session: StoredSession, account: String?) { self.note(session.resumption?.exposed ?? "none") }

    func load(
        account: String?, after number: UInt64, rows: Int, bytes: Int,
        _ answer: @escaping @Sendable (Result<[StoredDelivery], any Error>) -> Void
    ) {
        answer(.success([]))
    }

    func keep(_ delivery: StoredDelivery, _ answer: @escaping @Sendable (Result<StoredDelivery, any Error>) -> Void) {
        answer(.success(delivery))
    }

    func end(_ delivery: StoredDelivery, _ answer: @escaping @Sendable () -> Void) { answer() }

    func find(
        key: String, account: String?, _ answer: @escaping @Sendable (Result<StoredDelivery?, any Error>) -> Void
    ) {
        answer(.success(nil))
    }

    func close(account: String?) {}

    func postpone(_ delivery: StoredDelivery) {}

    let summary: String? = nil
    let waitingCount: Int? = nil

    func erase(account: String?, _ answer: @escaping @Sendable () -> Void) { answer() }
}

@Suite("Loading what an earlier process left")
struct StoredBacklogTests {
    /// The rows of a process that has died; the first letter of an event is its ordering key.
    private func store(_ events: [String]) throws -> MemoryDeliveryStore {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let former = try Harness(options: { $0.store = store }, script: { _ in .perfect })
        for event in events { try former.deliver(event) }
        return MemoryDeliveryStore(executor: TestExecutor(), rowsOf: store)
    }

    private func harness(
        _ store: MemoryDeliveryStore, _ options: (inout ConnectionOptions) -> Void
    ) throws -> Harness {
        let harness = try Harness(
            options: {
                $0.store = store
                options(&$0)
            }, script: { _ in .perfect })
        harness.transport.onMessage { $0.reply() }
        return harness
    }

    @Test
    func `an ordering key without an answer holds up neither other keys nor new deliveries`() throws {
        let store = try self.store(["a1", "a2", "b1"])
        let harness = try self.harness(store) { $0.flush.commands = 2 }
        harness.transport.onMessage { if !$0.event.hasPrefix("a") { $0.reply() } }
        try harness.deliver("c1")
        try harness.enter(.connected)
        #expect(harness.arrived == ["a1", "b1", "c1"])
        #expect(harness.isSuccess("c1"))
        #expect(store.waiting == ["a1", "a2"])
    }

    @Test(arguments: [(4, 1_000), (1_000, 8)])
    func `as many rows are loaded for a key without an answer as deliveries may wait`(commands: Int, bytes: Int) throws
    {
        let events = (1...6).map { "a\($0)" } + ["b1"]
        let store = try self.store(events)
        let harness = try self.harness(store) {
            $0.flush.commands = 2
            ($0.deliveries.commands, $0.deliveries.bytes) = (commands, bytes)
        }
        let unanswered = Lock<[ScriptedMessage]>([])
        harness.transport.onMessage { message in unanswered.withLock { $0.append(message) } }
        try harness.enter(.connected)
        #expect(harness.arrived == ["a1"])
        #expect(harness.connection.status.waitingCommands == 4)
        let error = #expect(throws: LinkspanError.self) { try harness.deliver("c1") }
        #expect(error?.code == .bufferFull)
        harness.transport.onMessage { $0.reply() }
        for message in unanswered.withLock({ $0 }) { message.reply() }
        harness.scheduler.settle()
        #expect(Set(harness.arrived) == Set(events))
        #expect(harness.arrived.filter { $0 != "b1" } == events.dropLast())
        #expect(store.waiting.isEmpty)
    }

    @Test
    func `a backlog is loaded in pages, and memory holds hardly more than may wait`() throws {
        let events = (0..<200).map { "a\($0)" }
        let store = try self.store(events)
        let harness = try self.harness(store) { ($0.flush.commands, $0.deliveries.commands) = (10, 20) }
        #expect(harness.connection.status.waitingCommands == 10)
        try harness.deliver("a new")
        let most = Lock(0)
        let connection = harness.connection
        harness.transport.onMessage { message in
            most.withLock { $0 = max($0, connection.status.waitingCommands) }
            message.reply()
        }
        try harness.enter(.connected)
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.arrived == events + ["a new"])
        #expect(most.withLock { $0 } <= 30)
        #expect(store.waiting.isEmpty)
    }
}

extension Harness {
    fileprivate func deliver(_ event: String) throws(LinkspanError) {
        try self.perform(.deliver(orderingKey: String(event.prefix(1))), event)
    }
}
