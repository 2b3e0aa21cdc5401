internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanServices
internal import LinkspanTesting
internal import Testing

@Suite("Presence set", .timeLimit(.minutes(1)))
struct PresenceSetTests {
    private let recorder = EventRecorder()

    private func people(_ scripted: Scripted, all: String? = nil) throws -> PresenceSet<String> {
        let recorder = self.recorder
        let who: @Sendable () throws -> (event: String, arguments: Payload) = { ("who", .empty) }
        return try PresenceSet(
            over: scripted.connection, joined: "joined", left: "left", all: all,
            entry: all == nil ? who : nil
        ) { difference in
            let joined = difference.joined.sorted().map { "+\($0)" }
            let left = difference.left.sorted().map { "-\($0)" }
            let first = difference.isFirst ? ["first"] : []
            recorder.note((first + joined + left + (difference.isComplete ? [] : ["?"])).joined(separator: " "))
        }
    }

    private func answer(_ scripted: Scripted, with names: String...) {
        scripted.transport.onMessage { [names] message in
            if let payload = try? Payload(names) { message.reply(payload) }
        }
    }

    @Test
    func `it enters with the first session and follows who joins and leaves`() throws {
        let scripted = try Scripted()
        self.answer(scripted, with: "ann", "bob")
        let people = try self.people(scripted)
        #expect(!people.isComplete)
        scripted.clock.settle()
        #expect(people.members == ["ann", "bob"])
        try scripted.emit("joined", "cid")
        try scripted.emit("joined", "cid")
        try scripted.emit("left", "ann")
        try scripted.emit("left", "nobody")
        #expect(people.members == ["bob", "cid"])
        #expect(people.isComplete)
        #expect(self.recorder.notes == ["first +ann +bob", "+cid", "-ann"])
    }

    @Test
    func `a set that begins on an open connection enters at once`() throws {
        let scripted = try Scripted()
        scripted.clock.settle()
        self.answer(scripted, with: "ann")
        let people = try self.people(scripted)
        scripted.clock.settle()
        #expect(people.members == ["ann"])
    }

    @Test
    func `after a gap it enters again and tells the differences`() throws {
        let scripted = try Scripted()
        self.answer(scripted, with: "ann", "bob")
        let people = try self.people(scripted)
        scripted.clock.settle()
        self.answer(scripted, with: "bob", "cid")
        try scripted.reconnect {
            #expect(people.members == ["ann", "bob"])
            #expect(!people.isComplete)
        }
        #expect(people.members == ["bob", "cid"])
        #expect(self.recorder.notes == ["first +ann +bob", "+cid -ann"])
    }

    @Test
    func `messages that were dropped leave the set incomplete until the server sends all members`() throws {
        let connection = try OpenConnection()
        let people = try PresenceSet<String>(over: connection, joined: "joined", left: "left", all: "all")
        try connection.emit("all", ["ann"])
        #expect(people.isComplete)
        connection.drop(1)
        #expect(!people.isComplete)
        try connection.emit("all", ["bob"])
        #expect(people.isComplete && people.members == ["bob"])
    }

    @Test
    func `a set that nobody holds any more listens no more`() throws {
        let connection = try OpenConnection()
        var people: PresenceSet<String>? = try PresenceSet(over: connection, joined: "joined", left: "left", all: "all")
        #expect(people?.isComplete == false)
        people = nil
        #expect(connection.cancelled.withLock { $0 } == 3)
    }

    @Test
    func `a resumed session asks nothing`() throws {
        let scripted = try Scripted { number in LinkScript { $0.resumesSession = number > 1 } }
        self.answer(scripted, with: "ann")
        let people = try self.people(scripted)
        scripted.clock.settle()
        try scripted.reconnect()
        #expect(people.isComplete)
        #expect(scripted.transport.received.count == 1)
    }

    @Test
    func `who joins or leaves while the answer is on its way is kept, whichever was first`() throws {
        let scripted = try Scripted()
        scripted.transport.onMessage { _ in }
        let people = try self.people(scripted)
        scripted.clock.settle()
        let id = try #require(scripted.transport.received.first?.requestID)
        // In the answer already, and after it.
        try scripted.emit("joined", "bob")
        try scripted.emit("left", "ann")
        try scripted.emit("joined", "dan")
        scripted.transport.openPeers.first?.reply(id, try Payload(["bob", "ann", "cid"]))
        scripted.clock.settle()
        #expect(people.members == ["bob", "cid", "dan"])
        #expect(people.isComplete)
    }

    @Test
    func `an answer over a lost link does not count, and a failed entry is told`() throws {
        let scripted = try Scripted()
        scripted.transport.onMessage { _ in }
        let people = try self.people(scripted)
        scripted.clock.settle()
        try scripted.reconnect()
        #expect(!people.isComplete)
        scripted.transport.onMessage { $0.reply(Payload(trustedElements: Array("{}".utf8)[...])) }
        people.refresh()
        scripted.clock.settle()
        #expect(people.lastError?.code == .decodingFailed)
        self.answer(scripted, with: "ann")
        people.refresh()
        scripted.clock.settle()
        #expect(people.lastError == nil)
        #expect(people.members == ["ann"])
    }

    @Test
    func `a server that sends all members is not asked`() throws {
        let scripted = try Scripted()
        let people = try self.people(scripted, all: "members")
        scripted.clock.settle()
        try scripted.emit("members", ["ann", "bob"])
        #expect(people.isComplete)
        try scripted.reconnect()
        #expect(!people.isComplete)
        try scripted.emit("members", ["bob"])
        #expect(people.members == ["bob"])
        #expect(scripted.transport.received.isEmpty)
        #expect(self.recorder.notes == ["first +ann +bob", "-ann"])
    }

    @Test
    func `a session that is resumed is as incomplete as it was`() throws {
        let scripted = try Scripted { number in LinkScript { $0.resumesSession = number > 2 } }
        let people = try self.people(scripted, all: "members")
        scripted.clock.settle()
        try scripted.emit("members", ["ann"])
        try scripted.reconnect()
        try scripted.reconnect()
        #expect(!people.isComplete)
        try scripted.emit("members", ["ann"])
        try scripted.reconnect()
        #expect(people.isComplete)
    }

    @Test
    func `an answer that comes after the end tells nothing`() throws {
        let scripted = try Scripted()
        scripted.transport.onMessage { _ in }
        let people = try self.people(scripted)
        scripted.clock.settle()
        let question = try #require(scripted.transport.received.last?.requestID)
        people.end()
        scripted.transport.openPeers.first?.reply(question, try Payload(["ann"]))
        scripted.clock.settle()
        #expect(self.recorder.notes.isEmpty && people.members.isEmpty)
    }

    @Test
    func `an ended set tells nothing, and one without holders is gone`() throws {
        let scripted = try Scripted()
        self.answer(scripted, with: "ann")
        var people: PresenceSet<String>? = try self.people(scripted)
        scripted.clock.settle()
        people?.end()
        try scripted.emit("joined", "bob")
        #expect(people?.members == ["ann"])
        weak let gone = people
        people = nil
        scripted.clock.settle()
        #expect(gone == nil)
        #expect(self.recorder.notes == ["first +ann"])
    }
}
