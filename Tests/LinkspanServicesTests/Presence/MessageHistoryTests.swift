internal import Linkspan
internal import LinkspanServices
internal import LinkspanTesting
internal import Testing

@Suite("Message history", .timeLimit(.minutes(1)))
struct MessageHistoryTests {
    private let recorder = EventRecorder()

    private func history(
        _ scripted: Scripted, after position: Int? = nil, isDense: Bool = true, asks: Bool = true
    ) throws -> MessageHistory<Int> {
        let recorder = self.recorder
        let question: @Sendable (Int) throws -> (event: String, arguments: Payload) = { ("since", try Payload($0)) }
        return try MessageHistory(
            over: scripted.connection, after: position, event: "line", isDense: isDense, offset: { $0 },
            missed: asks ? question : nil
        ) { news in
            switch news {
            case .item(let item): recorder.note("\(item)")
            case .gap(let lost): recorder.note("gap \(lost.map { "\($0)" } ?? "?")")
            }
        }
    }

    /// The server has the lines from `first` to `last`.
    private func serve(_ scripted: Scripted, _ first: Int, _ last: Int) {
        scripted.transport.onMessage { message in
            guard let after = message.payload[0]?.int else { return }
            let lines = Array(
                (max(first, after + 1)...max(last, after + 1)).prefix(max(0, last - max(first - 1, after))))
            if let payload = try? Payload(lines) { message.reply(payload) }
        }
    }

    private var told: String { self.recorder.notes.joined(separator: " ") }

    @Test
    func `what was missed comes before what arrives meanwhile`() throws {
        let scripted = try Scripted()
        scripted.transport.onMessage { _ in }
        let history = try self.history(scripted)
        scripted.clock.settle()
        try scripted.emit("line", 1)
        try scripted.emit("line", 2)
        #expect(scripted.transport.received.isEmpty, "nothing was missed before the first line")
        try scripted.reconnect()
        let question = try #require(scripted.transport.received.last)
        #expect(question.event == "since")
        #expect(question.payload[0]?.int == 2)
        try scripted.emit("line", 6)
        try scripted.emit("line", 5)
        #expect(self.told == "1 2")
        scripted.transport.openPeers.first?.reply(try #require(question.requestID), try Payload([3, 4, 5]))
        scripted.clock.settle()
        #expect(self.told == "1 2 3 4 5 6")
        #expect(history.position == 6)
    }

    @Test
    func `a later process goes on behind its position`() throws {
        let scripted = try Scripted()
        self.serve(scripted, 1, 9)
        let history = try self.history(scripted, after: 6)
        scripted.clock.settle()
        #expect(self.told == "7 8 9")
        try scripted.emit("line", 8)
        try scripted.emit("line", 10)
        #expect(self.told == "7 8 9 10")
        #expect(history.position == 10)
    }

    @Test
    func `a hole is asked for, and what the server does not have is a gap`() throws {
        let scripted = try Scripted()
        self.serve(scripted, 1, 4)
        let history = try self.history(scripted, after: 0)
        defer { history.end() }
        scripted.clock.settle()
        #expect(self.told == "1 2 3 4")
        self.serve(scripted, 6, 7)
        try scripted.emit("line", 7)
        #expect(self.told == "1 2 3 4 gap 1 6 7")
    }

    @Test
    func `a resumed session asks nothing`() throws {
        let scripted = try Scripted { number in LinkScript { $0.resumesSession = number > 1 } }
        let history = try self.history(scripted)
        defer { history.end() }
        scripted.clock.settle()
        try scripted.emit("line", 1)
        try scripted.reconnect()
        try scripted.emit("line", 2)
        #expect(scripted.transport.received.isEmpty)
        #expect(self.told == "1 2")
    }

    @Test
    func `an answer that is lost with its link is asked for anew`() throws {
        let scripted = try Scripted()
        scripted.transport.onMessage { _ in }
        let history = try self.history(scripted, after: 0)
        defer { history.end() }
        scripted.clock.settle()
        try scripted.emit("line", 3)
        self.serve(scripted, 1, 3)
        try scripted.reconnect()
        #expect(self.told == "1 2 3")
        #expect(scripted.transport.received.count == 2)
    }

    @Test
    func `an answer that is lost with its link is asked for anew by a session that is resumed`() throws {
        let scripted = try Scripted { number in LinkScript { $0.resumesSession = number > 1 } }
        scripted.transport.onMessage { _ in }
        let history = try self.history(scripted, after: 0, isDense: false)
        defer { history.end() }
        scripted.clock.settle()
        self.serve(scripted, 1, 3)
        try scripted.reconnect()
        #expect(self.told == "1 2 3")
        try scripted.reconnect()
        #expect(scripted.transport.received.count == 2, "what was answered is not asked again")
    }

    @Test
    func `a refused question leaves a gap, and the conversation goes on`() throws {
        let scripted = try Scripted()
        scripted.transport.onMessage { $0.reply(Payload(trustedElements: Array("{}".utf8)[...])) }
        let history = try self.history(scripted, after: 0)
        defer { history.end() }
        scripted.clock.settle()
        try scripted.emit("line", 3)
        try scripted.emit("line", 4)
        #expect(self.told == "gap ? gap ? 3 4")
    }

    @Test
    func `several pages are asked for one after the other`() throws {
        let scripted = try Scripted()
        scripted.transport.onMessage { message in
            guard let after = message.payload[0]?.int else { return }
            if let payload = try? Payload(["first": after + 1, "last": min(after + 3, 8)]) { message.reply(payload) }
        }
        let recorder = self.recorder
        let history = try MessageHistory<Int>(
            over: scripted.connection, after: 0, event: "line", item: { try $0.decode(Int.self) }, offset: { $0 },
            missed: { ("since", try Payload($0)) },
            page: { answer in
                let range = try answer.decode([String: Int].self)
                let (first, last) = (range["first"] ?? 0, range["last"] ?? 0)
                return .init(
                    items: first > last ? [] : Array(first...last), lost: first == 1 ? 1 : nil, hasMore: last < 8)
            }
        ) { news in
            switch news {
            case .item(let item): recorder.note("\(item)")
            case .gap(let lost): recorder.note("gap \(lost ?? -1)")
            }
        }
        scripted.clock.settle()
        #expect(self.told == "gap 1 2 3 4 5 6 7 8")
        #expect(history.position == 8)
        #expect(scripted.transport.received.count == 3)
    }

    @Test
    func `for a server that repeats by itself, its positions count and repetitions are left out`() throws {
        let scripted = try Scripted()
        let history = try self.history(scripted, isDense: false, asks: false)
        scripted.clock.settle()
        history.reset(to: 5)
        for line in [6, 8, 7, 8, 9] { try scripted.emit("line", line) }
        #expect(self.told == "6 8 9")
        history.reset(to: 0)
        try scripted.emit("line", 1)
        #expect(self.told == "6 8 9 1")
        #expect(scripted.transport.received.isEmpty)
    }

    @Test
    func `offsets that the app knows by itself are no holes`() throws {
        let scripted = try Scripted()
        scripted.transport.onMessage { _ in }
        let history = try self.history(scripted)
        scripted.clock.settle()
        try scripted.emit("line", 1)
        history.note(2)
        try scripted.emit("line", 3)
        history.note(5)
        #expect(history.position == 3)
        try scripted.emit("line", 4)
        #expect(history.position == 5)
        #expect(self.told == "1 3 4")
        #expect(scripted.transport.received.isEmpty)
    }

    @Test
    func `a message that is repeated under another offset is known by its identity`() throws {
        let scripted = try Scripted()
        let recorder = self.recorder
        let history = try MessageHistory<[String]>(
            over: scripted.connection, event: "line", isDense: false, item: { try $0.decode([String].self) },
            offset: { Int($0[0]) ?? 0 }, identity: { $0[1] }, page: { _ in .init(items: []) }
        ) { if case .item(let item) = $0 { recorder.note(item[1]) } }
        scripted.clock.settle()
        try scripted.emit("line", ["1", "a"])
        history.reset(to: 0)
        try scripted.emit("line", ["1", "b"])
        try scripted.emit("line", ["2", "a"])
        #expect(self.told == "a b")
        #expect(history.position == 2)
    }

    @Test
    func `offsets at the ends of the range are left out`() throws {
        let scripted = try Scripted()
        scripted.transport.onMessage { $0.reply((try? Payload([Int.max, 2, Int.min])) ?? .empty) }
        let history = try self.history(scripted)
        scripted.clock.settle()
        for line in [Int.max, Int.min, 1, Int.max] { try scripted.emit("line", line) }
        history.note(.max)
        history.reset(to: .max)
        try scripted.reconnect()
        try scripted.emit("line", 3)
        #expect(self.told == "1 2 3")
        #expect(history.position == 3)
    }

    @Test(arguments: [Int.max, Int.min, -1])
    func `a loss of an absurd number of messages is a gap of unknown size`(lost: Int) throws {
        let scripted = try Scripted()
        scripted.transport.onMessage { $0.reply(.empty) }
        let recorder = self.recorder
        let history = try MessageHistory<Int>(
            over: scripted.connection, after: 7, event: "line", item: { try $0.decode(Int.self) }, offset: { $0 },
            missed: { ("since", try Payload($0)) }, page: { _ in .init(items: [8], lost: lost) }
        ) { news in
            switch news {
            case .item(let item): recorder.note("\(item)")
            case .gap(let lost): recorder.note("gap \(lost.map { "\($0)" } ?? "?")")
            }
        }
        scripted.clock.settle()
        try scripted.emit("line", 9)
        #expect(self.told == "gap ? 8 9")
        #expect(history.position == 9)
    }
}
