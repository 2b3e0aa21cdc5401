@testable import Linkspan
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import TestSupport
internal import Testing

@Suite("Continuity", .timeLimit(.minutes(1)))
struct ContinuityTests {
    private func note(_ item: EventItem<Message>, _ harness: Harness) { harness.recorder.note(item.text) }

    /// Loses the link and lets the next one open.
    private func reconnect(_ harness: Harness) {
        for peer in harness.transport.openPeers { peer.drop() }
        harness.scheduler.advance(by: .seconds(30))
    }

    private func emit(_ harness: Harness, _ number: Int) {
        harness.peers.last?.emit("event", .json("\(number)"))
        harness.scheduler.settle()
    }

    @Test(arguments: [false, true])
    func `each reconnect is marked between the messages, the first connect is not`(isResumed: Bool) throws {
        let harness = try Harness { _ in .init { $0.resumesSession = isResumed } }
        try harness.connection.onItems("event") { self.note($0, harness) }
        try harness.enter(.connected)
        self.emit(harness, 1)
        self.reconnect(harness)
        self.emit(harness, 2)
        try harness.connection.disconnect()
        try harness.connection.connect()
        harness.scheduler.settle()
        self.emit(harness, 3)
        let mark = isResumed ? "continuous" : "gap reconnected"
        #expect(harness.recorder.notes == ["1", mark, "2", mark, "3"])
        let marks = harness.recorder.changes.filter { $0.to == .connected }.map(\.continuity)
        #expect(marks == [nil, isResumed ? .continuous : .gap(.reconnected), marks.last ?? nil])
    }

    @Test
    func `a first connect after failed attempts has no mark`() throws {
        let harness = try Harness { number in number < 3 ? .refusing(.lost) : .perfect }
        try harness.connection.onItems("event") { self.note($0, harness) }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.connection.state == .connected)
        #expect(harness.recorder.notes == [])
    }

    @Test
    func `streams of one event and of all have the marks in order with their messages`() async throws {
        let harness = try Harness.connected()
        let (one, all) = (try harness.connection.events("event"), try harness.connection.events(nil))
        self.emit(harness, 1)
        self.reconnect(harness)
        self.emit(harness, 2)
        self.reconnect(harness)
        try harness.connection.disconnect()
        try harness.connection.release()
        for stream in [one, all] {
            var seen: [String] = []
            for await item in stream.items { seen.append(item.text) }
            #expect(seen == ["1", "gap reconnected", "2", "gap reconnected"])
        }
    }

    @Test
    func `plain iteration yields messages alone, each once, over any number of reconnects`() async throws {
        let harness = try Harness.connected()
        let stream = try harness.connection.events("event")
        for number in 1...20 {
            self.emit(harness, number)
            self.reconnect(harness)
        }
        try harness.connection.disconnect()
        try harness.connection.release()
        var seen: [String] = []
        for await element in stream { seen.append(element.message.payload.text) }
        #expect(seen == (1...20).map { "\($0)" })
    }

    @Test
    func `messages of a dead link are not delivered after the mark`() throws {
        let harness = try Harness.connected(script: { _ in .init { $0.speaksAfterDrop = true } })
        try harness.connection.onItems("event") { self.note($0, harness) }
        let former = try #require(harness.peers.first)
        self.emit(harness, 1)
        self.reconnect(harness)
        former.emit("event", .json("99"))
        self.emit(harness, 2)
        #expect(harness.recorder.notes == ["1", "gap reconnected", "2"])
    }

    @Test
    func `held messages have their marks, too`() throws {
        let harness = try Harness.connected()
        self.emit(harness, 1)
        self.reconnect(harness)
        self.emit(harness, 2)
        self.reconnect(harness)
        try harness.connection.onItems("event") { self.note($0, harness) }
        try harness.connection.onItems("other") { self.note($0, harness) }
        #expect(harness.recorder.notes == ["1", "gap reconnected", "2", "gap reconnected"])
    }

    @Test
    func `the oldest messages that cannot be held become a gap at their place`() throws {
        let router = RouterDriver(limits: .init(messages: 2, bytes: 1_000))
        let recorder = EventRecorder()
        for (event, number) in [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("a", 5)] {
            router.route(Message(event: event, payload: .json("\(number)")))
        }
        _ = router.addForItems(event: "b") { recorder.note("b \($0.text)") }
        _ = router.addForItems(event: "a") { recorder.note("a \($0.text)") }
        _ = router.addForItems(event: "c") { recorder.note("c \($0.text)") }
        for event in ["a", "b", "c"] { router.route(Message(event: event, payload: .json("6"))) }
        #expect(recorder.notes == ["b 4", "a gap 3", "a 5", "a 6", "b 6", "c 6"])
    }

    @Test
    func `names from the server cannot fill the memory`() {
        let router = EventRouter(limits: .init(messages: 2, bytes: 1_000, events: 10))
        for number in 1...10_000 {
            router.route(Message(event: "event \(number)", payload: .empty))
            router.route(Message(event: String(repeating: "x", count: 1_001 + number), payload: .empty))
        }
        #expect(router.knownEvents == 10)
        #expect(router.droppedCount == 20_000 - 2)
    }

    @Test
    func `a listener that cancels hears no mark after that`() throws {
        let harness = try Harness.connected()
        let subscription = try harness.connection.onItems("event") { self.note($0, harness) }
        subscription.cancel()
        self.reconnect(harness)
        #expect(harness.recorder.notes == [])
    }

    @Test
    func `a connection of eight requirements has sequences with marks, and they end with it`() async throws {
        let connection = MarkingConnection()
        let stream = try connection.events("event")
        connection.tell(.connected, nil)
        connection.hear("1")
        connection.tell(.connected, .gap(.reconnected))
        connection.hear("2")
        let late = try connection.events("event")
        connection.tell(.connected, .continuous)
        connection.hear("3")
        connection.tell(.released, nil)
        var (seen, seenLate): ([String], [String]) = ([], [])
        for await item in stream.items { seen.append(item.text) }
        for await item in late.items { seenLate.append(item.text) }
        #expect(seen == ["1", "gap reconnected", "2", "continuous", "3"])
        #expect(seenLate == ["continuous", "3"])
    }

    @Test
    func `a link that speaks while it is being opened is heard after it was announced`() throws {
        let configuration = try ConnectionBuilder("eager://server").transport(EagerTransport()).build()
        let scheduler = VirtualScheduler()
        let connection = PooledConnection(
            id: 1, configuration: configuration,
            environment: ConnectionEnvironment(
                scheduler: scheduler, random: { 0 }, logger: Logger(label: "test"), observer: nil))
        let recorder = EventRecorder()
        _ = connection.onStateChange { recorder.note("\($0.to)") }
        try connection.onItems("event") { recorder.note($0.text) }
        try connection.connect()
        try connection.disconnect()
        try connection.connect()
        #expect(
            recorder.notes == [
                "connected", "1", "disconnected", "reconnecting", "gap reconnected", "connected", "2",
            ])
    }

    @Test
    func `marks and messages have one order on real threads`() async throws {
        let hub = InMemoryHub()
        let connections = Lock(0)
        hub.onConnect { peer in
            let epoch = connections.withLock { count in
                count += 1
                return count
            }
            for number in 0..<3 { peer.emit("event", .json("\(epoch * 1_000 + number)")) }
        }
        let manager = ConnectionManager(
            options: .init {
                $0.random = { 0 }
            })
        let seen = Lock<[EventItem<Message>]>([])
        let handler = try ConnectionBuilder("memory://order").transport(.inMemory(hub))
            .options { $0.retry = RetryPolicy { _ in .zero } }.connect(by: manager)
        try handler.onItems("event") { item in seen.withLock { $0.append(item) } }
        for await change in handler.stateChanges where change.to == .connected { break }
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask {
                for number in 0..<2_000 {
                    hub.emit("event", .json("\(connections.withLock { $0 } * 1_000 + 10 + number % 900)"))
                }
            }
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<100 {
                        try? handler.disconnect()
                        try? handler.connect()
                        try await eventually { handler.state != .reconnecting }
                    }
                }
            }
        }
        await manager.shutdown()
        // Each link's greeting stands behind the mark of its connect.
        var (epoch, marks) = (0, 0)
        for item in seen.withLock({ $0 }) {
            switch item {
            case .continuity: marks += 1
            case .message(let message):
                guard let number = message.payload[0]?.int, number % 1_000 < 3 else { continue }
                #expect(number / 1_000 >= epoch)
                if number / 1_000 > epoch, epoch > 0 { #expect(marks > 0, "a new session without a mark") }
                if number / 1_000 > epoch { marks = 0 }
                epoch = number / 1_000
            }
        }
        #expect(epoch > 0)
    }
}

/// Links that open and speak before ``Link/open()`` returns.
private final class EagerTransport: Transport {
    let name = "eager"
    let executor: any JobExecutor = TestExecutor()
    let schemes: Set<String> = ["eager"]
    private let links = Counter()

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        EagerLink(receiver: receiver, number: self.links.increment())
    }
}

private final class EagerLink: Link {
    private let receiver: any LinkReceiver
    private let number: Int

    init(receiver: any LinkReceiver, number: Int) {
        self.receiver = receiver
        self.number = number
    }

    func open() {
        self.receiver.receive([.opened(LinkInfo())])
        self.receiver.receive([.message(InboundMessage(event: "event", payload: .json("\(self.number)")))])
    }

    func send(_ message: OutboundMessage) -> SendAcceptance { .accepted }
    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { .accepted }
    func close(code: UInt16?, reason: String) { self.abort() }
    func abort() { self.receiver.receive([.closed(.lost)]) }
}

/// A connection of a third party that does what a test says.
private final class MarkingConnection: Connection {
    private struct State: Sendable {
        var handlers: [@Sendable (Message) -> Void] = []
        var marks: [@Sendable (Continuity) -> Void] = []
        var observers: [@Sendable (StatusChange) -> Void] = []
        var changes: [StateChange] = []
    }

    let scheduler: any Scheduler = SystemScheduler.shared
    private let guarded = Lock(State())
    private let url: ConnectionURL

    init() {
        do {
            self.url = try ConnectionURL("marking://server")
        } catch {
            preconditionFailure("\(error)")
        }
    }

    var status: ConnectionStatus {
        ConnectionStatus(url: self.url, state: self.guarded.withLock { $0.changes.last?.to ?? .created })
    }

    func tell(_ state: ConnectionState, _ continuity: Continuity?) {
        let (change, guarded) = self.guarded.withLock { guarded in
            let change = StateChange(
                from: .created, to: state, reason: .requested, attempt: 1,
                time: .now, continuity: continuity)
            guarded.changes.append(change)
            return (change, guarded)
        }
        if let continuity { for mark in guarded.marks { mark(continuity) } }
        for observer in guarded.observers { observer(.state(change)) }
    }

    func hear(_ text: String) {
        for handler in self.guarded.withLock({ $0.handlers }) {
            handler(Message(event: "event", payload: .json(text)))
        }
    }

    func subscribe(
        to event: String?, once: Bool, onMark: (@Sendable (Continuity) -> Void)?,
        _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        self.guarded.withLock { guarded in
            guarded.handlers.append(handler)
            if let onMark { guarded.marks.append(onMark) }
        }
        return Subscription {}
    }

    func onStatusChange(_ handler: @escaping @Sendable (StatusChange) -> Void) -> Subscription {
        let latest = self.guarded.withLock { guarded in
            guarded.observers.append(handler)
            return guarded.changes.last
        }
        if let latest { handler(.state(latest)) }
        return Subscription {}
    }

    func perform(_ command: Command) throws(LinkspanError) {}
    func cancel(_ id: Command.ID) {}
    func connect() throws(LinkspanError) {}
    func disconnect() throws(LinkspanError) {}
}
