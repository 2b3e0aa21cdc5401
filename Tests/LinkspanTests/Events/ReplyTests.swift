@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import Testing

@Suite("Replies", .timeLimit(.minutes(1)))
struct ReplyTests {
    @Test
    func `a reply that the link does not take may be followed by one that it takes`() throws {
        let log = LogRecorder(from: .warning)
        let harness = try Harness(
            logger: Logger(label: "test") { _ in log },
            script: { _ in
                var script = LinkScript.perfect
                script.rejectsReply = {
                    $0.byteCount > 50 ? LinkspanError(.messageTooLarge, "too large in a test") : nil
                }
                return script
            })
        try harness.enter(.connected)
        let recorder = EventRecorder()
        try harness.connection.on("question") { message in
            try? message.reply(String(repeating: "x", count: 100))
            try? message.reply("small")
            try? message.reply("late")
        }
        harness.peers.first?.ask("question") { recorder.note($0.text) }
        harness.scheduler.settle()
        #expect(recorder.notes == [#""small""#])
        #expect(log.lines.map(\.message) == ["A reply was not sent"])
        #expect(harness.connection.state == .connected)
    }

    // MARK: A full link

    /// Lets the server read until nothing comes any more.
    private func readAll(_ harness: Harness) {
        var former = -1
        while harness.recorder.notes.count > former {
            former = harness.recorder.notes.count
            harness.scheduler.settle()
            harness.transport.openPeers.last?.read()
        }
    }

    /// Asks the client; the answer goes on record when the server has read it.
    private func ask(_ harness: Harness, _ number: Int) {
        harness.transport.openPeers.last?.ask("question", .json("\(number)")) { _ in
            harness.recorder.note("\(number)")
        }
    }

    @Test(arguments: [(BufferLimits(commands: 50), 50), (BufferLimits(bytes: 105 << 10), 10)])
    func `a full link gets no more of them, and those that have room wait in order`(
        limits: BufferLimits, count: Int
    ) throws {
        let (capacity, log) = (4, LogRecorder(from: .warning))
        let harness = try Harness(
            logger: Logger(label: "test") { _ in log }, options: { $0.buffer = limits },
            script: { _ in .init { $0.capacity = capacity } })
        try harness.enter(.connected)
        let answer = Payload.json(#""\#(String(repeating: "x", count: 10 << 10))""#)
        try harness.connection.on("question") { $0.reply(payload: answer) }
        for number in 0..<1_000 { self.ask(harness, number) }
        harness.scheduler.settle()
        #expect(log.lines.count == 1_000 - capacity - count)
        // Everything that the link has taken.
        harness.peers.first?.read()
        #expect(harness.recorder.notes == (0..<capacity).map(String.init))
        self.readAll(harness)
        #expect(harness.recorder.notes == (0..<capacity + count).map(String.init))
        self.ask(harness, 1_000)
        self.readAll(harness)
        #expect(harness.recorder.notes.last == "1000")
        #expect(log.lines.count == 1_000 - capacity - count)
    }

    @Test
    func `they wait as long as there is room for their bytes`() {
        let (executor, recorder) = (TestExecutor(), EventRecorder())
        executor.execute {
            var waiting = WaitingReplies()
            for id in 0..<3 as Range<UInt64> {
                let right = ReplyRight(id: id, event: nil, epoch: 1, isUsed: Confined(false, to: executor))
                let isKept = waiting.append(.json("12345"), by: right, within: BufferLimits(bytes: 10))
                recorder.note("\(isKept)")
            }
        }
        #expect(recorder.notes == ["true", "true", "false"])
    }

    @Test
    func `those that wait leave before commands that wait`() throws {
        let harness = try Harness { _ in .init { $0.capacity = 1 } }
        harness.transport.onMessage { harness.recorder.note($0.event) }
        try harness.enter(.connected)
        try harness.connection.on("question") { $0.reply(payload: .empty) }
        for event in ["first", "second"] { try harness.perform(.send, event) }
        for number in 1...3 { self.ask(harness, number) }
        self.readAll(harness)
        #expect(harness.recorder.notes == ["first", "1", "2", "3", "second"])
    }

    @Test
    func `only the first answer waits`() throws {
        let harness = try Harness { _ in .init { $0.capacity = 1 } }
        try harness.enter(.connected)
        try harness.connection.on("question") { message in
            for text in ["first", "late"] { message.reply(payload: .json(text)) }
        }
        for _ in 1...2 { harness.peers.first?.ask("question") { harness.recorder.note($0.text) } }
        harness.scheduler.settle()
        #expect(try harness.connection.ask { $0.sender.link?.waitingReplies?.count } == 1)
        self.readAll(harness)
        #expect(harness.recorder.notes == ["first", "first"])
    }

    @Test
    func `those that wait are gone with their link, and do not hold up the next one`() throws {
        let harness = try Harness { number in .init { $0.capacity = number == 1 ? 1 : nil } }
        try harness.enter(.connected)
        try harness.connection.on("question") { $0.reply(payload: .empty) }
        for number in 1...3 { self.ask(harness, number) }
        harness.scheduler.settle()
        harness.peers.first?.drop()
        harness.scheduler.advance(by: .seconds(30))
        self.ask(harness, 4)
        harness.scheduler.settle()
        #expect(harness.recorder.notes == ["4"])
    }

    // MARK: A link that refuses

    @Test
    func `a reply that the link refuses waits until it takes messages again, before later ones`() throws {
        let transport = HesitantTransport()
        let configuration = try ConnectionBuilder("scripted://server").transport(transport).build()
        let scheduler = transport.scheduler
        let environment = ConnectionEnvironment(
            scheduler: scheduler, random: { 0.5 }, logger: Logger(label: "test"))
        let connection = PooledConnection(id: 1, configuration: configuration, environment: environment)
        try connection.connect()
        scheduler.settle()
        let answers = EventRecorder()
        try connection.on("question") { $0.reply(payload: $0.payload) }
        func ask(_ numbers: ClosedRange<Int>) {
            for number in numbers {
                transport.base.openPeers.last?.ask("question", .json("\(number)")) { answers.note($0.text) }
            }
            scheduler.settle()
        }
        transport.refusals.withLock { $0 = 1 }
        ask(1...3)
        #expect(answers.notes == [])
        // Refused once more in the midst of those that wait.
        transport.refusals.withLock { $0 = 1 }
        transport.tellWritable()
        scheduler.settle()
        #expect(answers.notes == [])
        ask(4...4)
        transport.tellWritable()
        scheduler.settle()
        #expect(answers.notes == ["1", "2", "3", "4"])
        ask(5...5)
        #expect(answers.notes.last == "5")
    }
}

/// A network whose links refuse replies, a number of times, as one does whose last look at its socket is under way.
private final class HesitantTransport: Transport {
    let scheduler = VirtualScheduler()
    let base: ScriptedTransport
    let name = "hesitant"
    /// The number of replies that the link still has to refuse.
    let refusals = Lock(0)
    private let receiver: Confined<(any LinkReceiver)?>

    init() {
        self.base = ScriptedTransport(scheduler: self.scheduler)
        self.receiver = Confined(nil, to: self.scheduler.executor)
    }

    var schemes: Set<String> { self.base.schemes }
    var executor: any JobExecutor { self.base.executor }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        self.receiver.value = receiver
        return HesitantLink(base: self.base.makeLink(request, receiver: receiver)) {
            self.refusals.withLock { refusals in
                defer { refusals = max(0, refusals - 1) }
                return refusals > 0
            }
        }
    }

    func tellWritable() { self.executor.execute { self.receiver.value?.receive([.writable]) } }
}

private final class HesitantLink: Link {
    private let base: any Link
    private let refuses: () -> Bool

    init(base: any Link, refuses: @escaping () -> Bool) {
        self.base = base
        self.refuses = refuses
    }

    func open() { self.base.open() }
    func send(_ message: OutboundMessage) -> SendAcceptance { self.base.send(message) }
    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance {
        self.refuses() ? .refused : self.base.reply(to: id, with: payload)
    }
    func close(code: UInt16?, reason: String) { self.base.close(code: code, reason: reason) }
    func abort() { self.base.abort() }
}
