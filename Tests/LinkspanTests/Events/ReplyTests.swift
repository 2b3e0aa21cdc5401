@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import Testing

@Suite("Replies", .timeLimit(.minutes(1)))
struct ReplyTests {
    @Test
    func `a reply that the link does not take may be followed by one that it takes`() throws {
        let harness = try Harness.connected(script: { _ in
            var script = LinkScript.perfect
            script.rejectsReply = {
                $0.byteCount > 50 ? LinkspanError(.messageTooLarge, "too large in a test") : nil
            }
            return script
        })
        let recorder = EventRecorder()
        try harness.connection.on("question") { message in
            try? message.reply(String(repeating: "x", count: 100))
            try? message.reply("small")
            try? message.reply("late")
        }
        harness.peers.first?.ask("question") { recorder.note($0.text) }
        harness.scheduler.settle()
        #expect(recorder.notes == [#""small""#])
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
        let (capacity, log) = (4, WarningLog())
        let harness = try Harness(
            logger: Logger(label: "test") { _ in log }, options: { $0.buffer = limits },
            script: { _ in .init { $0.capacity = capacity } })
        try harness.enter(.connected)
        let answer = Payload.json(#""\#(String(repeating: "x", count: 10 << 10))""#)
        try harness.connection.on("question") { $0.reply(payload: answer) }
        for number in 0..<1_000 { self.ask(harness, number) }
        harness.scheduler.settle()
        #expect(log.warnings.count == 1_000 - capacity - count)
        // Everything that the link has taken.
        harness.peers.first?.read()
        #expect(harness.recorder.notes == (0..<capacity).map(String.init))
        self.readAll(harness)
        #expect(harness.recorder.notes == (0..<capacity + count).map(String.init))
        self.ask(harness, 1_000)
        self.readAll(harness)
        #expect(harness.recorder.notes.last == "1000")
        #expect(log.warnings.count == 1_000 - capacity - count)
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
        #expect(try harness.connection.ask { $0.waitingReplies?.count } == 1)
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
}
