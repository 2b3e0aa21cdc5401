internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@testable internal import LinkspanInMemory

@Suite("The events of a client in memory")
struct ClientQueueTests {
    private final class Receiver: LinkReceiver {
        let batches = Lock<[[String]]>([])

        func receive(_ next: () -> LinkEvent?) {
            var words: [String] = []
            while let event = next() {
                switch event {
                case .opened: words.append("opened")
                case .message(let message): words.append(message.event)
                case .closed(let error): words.append(error.message)
                case .reply, .changed, .failed, .writable: words.append("other")
                }
            }
            self.batches.withLock { $0.append(words) }
        }
    }

    private let executor = TestExecutor()
    private let receiver = Receiver()

    /// Runs `body` with a queue, in one job of the executor, and hands over what it gave.
    private func run<Result: Sendable>(
        _ queue: Confined<ClientQueue>, _ body: @escaping @Sendable (ClientQueue) -> Result
    ) -> Result? {
        let result = Lock<Result?>(nil)
        self.executor.execute {
            let given = body(queue.value)
            result.withLock { $0 = given }
        }
        return result.withLock { $0 }
    }

    private func queue() -> Confined<ClientQueue> {
        let made = Lock<Confined<ClientQueue>?>(nil)
        let (executor, receiver) = (self.executor, self.receiver)
        executor.execute {
            let queue = Confined(ClientQueue(receiver: receiver, work: HubWork(executor: executor)), to: executor)
            made.withLock { $0 = queue }
        }
        return made.withLock { $0 }.unsafelyUnwrapped
    }

    private var batches: [[String]] { self.receiver.batches.withLock { $0 } }

    private static func message(_ event: String, bytes: Int = 2) -> LinkEvent {
        let text = [UInt8(ascii: "\"")] + [UInt8](repeating: 97, count: bytes - 2) + [UInt8(ascii: "\"")]
        return .message(InboundMessage(event: event, payload: Payload(trustedElements: text[...])))
    }

    @Test
    func `come in batches of 64, behind the opening, and not before it`() {
        let queue = self.queue()
        let begins = self.run(queue) { queue in
            let given = [queue.deliver(Self.message("lost")), queue.begin(), queue.begin()]
            return given + [queue.isOpen, queue.deliver(Self.message("0"))]
        }
        #expect(begins == [true, true, false, false, true] && self.batches.isEmpty)
        _ = self.run(queue) { queue in
            queue.open(LinkInfo(sessionID: "s", isContinuous: false))
            for number in 1..<100 { _ = queue.deliver(Self.message("\(number)")) }
        }
        #expect(self.batches.map(\.count) == [64, 37])
        #expect(self.batches.joined().map { $0 } == ["opened"] + (0..<100).map { "\($0)" })
        #expect(self.run(queue) { $0.isOpen } == true)
    }

    @Test
    func `wait while reading is paused, up to 16 MiB, and those that waited before count`() {
        let queue = self.queue()
        let half = 8 << 20
        let room = self.run(queue) { queue in
            _ = queue.begin()
            queue.open(LinkInfo(sessionID: "s", isContinuous: false))
            _ = queue.deliver(Self.message("a", bytes: half - 1))
            queue.setReadingPaused(true)
            return [queue.deliver(Self.message("b", bytes: half - 1)), queue.deliver(Self.message("", bytes: 2))]
        }
        #expect(room == [true, false] && self.batches.isEmpty)
        #expect(self.run(queue) { $0.isOverfull } == true)
        _ = self.run(queue) { $0.setReadingPaused(false) }
        #expect(self.batches == [["opened", "a", "b", ""]])
        #expect(self.run(queue) { $0.isOverfull } == false)
    }

    @Test
    func `end with the close, which a pause does not hold back`() {
        let queue = self.queue()
        _ = self.run(queue) { queue in
            _ = queue.begin()
            queue.open(LinkInfo(sessionID: "s", isContinuous: false))
            queue.setReadingPaused(true)
            _ = queue.deliver(Self.message("a"))
        }
        #expect(self.batches.isEmpty)
        let begins = self.run(queue) { queue in
            queue.end(LinkspanError(.closedByServer, "end"))
            queue.end(LinkspanError(.closedByServer, "again"))
            _ = queue.deliver(Self.message("late"))
            return queue.begin() || queue.isOpen
        }
        #expect(begins == false && self.batches == [["opened", "a", "end"]])
    }
}

@Suite("A client, as its hub sees it", .timeLimit(.minutes(1)))
struct HubPeerTests {
    private final class Witness: Sendable {}

    private let hub = InMemoryHub(executor: TestExecutor())
    private let clock = VirtualScheduler()

    private func connect() throws(LinkspanError) -> ConnectionHandler {
        let clock = self.clock
        let manager = ConnectionManager(options: .init { $0.scheduler = clock })
        return try ConnectionBuilder("memory://hub").transport(.inMemory(self.hub)).connect(by: manager)
    }

    @Test
    func `it says of each message whether an answer is awaited, by the newest handler of the event`() throws {
        let heard = Lock<[String]>([])
        let note: @Sendable (String) -> HubPeer.Handler = { name in
            { message in heard.withLock { $0.append("\(name) \(message.event) \(message.wantsReply)") } }
        }
        self.hub.onConnect { peer in
            peer.onOther(note("other"))
            peer.on("switch") { _ in peer.on("a", note("own")) }
        }
        let connection = try self.connect()
        try connection.send("a")
        try connection.perform(Command(.request, event: "a", payload: .empty))
        try connection.send("switch")
        try connection.send("a")
        #expect(heard.withLock { $0 } == ["other a false", "other a true", "own a false"])
        connection.release()
    }

    @Test
    func `it keeps none of its handlers when the client has gone`() throws {
        weak var kept: Witness?
        let ends = Lock(0)
        do {
            let witness = Witness()
            kept = witness
            self.hub.onConnect { $0.onEnd { ends.withLock { $0 += 1 } } }
            let connection = try self.connect()
            let peer = try #require(self.hub.peers.first)
            peer.on("a") { _ in _ = witness }
            peer.onOther { _ in _ = witness }
            peer.ask("question", .empty) { _ in _ = witness }
            try connection.disconnect()
            #expect(ends.withLock { $0 } == 1 && self.hub.peers.isEmpty)
            peer.disconnect()
            #expect(ends.withLock { $0 } == 1)
            connection.release()
        }
        #expect(kept == nil)
    }
}
