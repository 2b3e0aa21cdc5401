@testable internal import chat
internal import Testing

@Suite("The model of the chat's views", .timeLimit(.minutes(1)))
@MainActor
struct ChatModelTests {
    private let floor = FakeFloor()

    /// Runs a model until the floor has said everything.
    private func model(_ events: [ChatFloorEvent] = []) async -> ChatModel {
        let model = ChatModel(name: "ann", room: "lobby", floor: self.floor)
        for event in events { self.floor.source.yield(event) }
        self.floor.source.finish()
        await model.run()
        return model
    }

    private func line(_ id: String, _ state: ChatFloorLine.State, room: String = "lobby") -> ChatFloorLine {
        ChatFloorLine(id: id, room: room, from: "bob", text: "hello", isOwn: false, state: state)
    }

    @Test
    func `a line that is confirmed takes the place of the one that was said`() async {
        let model = await self.model([
            .line(self.line("1", .pending)), .line(self.line("2", .pending)), .line(self.line("1", .confirmed)),
        ])
        #expect(
            model.entries["lobby"] == [.line(self.line("1", .confirmed)), .line(self.line("2", .pending))])
    }

    @Test
    func `lines of other rooms are counted until one goes there`() async {
        let model = await self.model([
            .line(self.line("1", .confirmed, room: "swift")), .line(self.line("2", .confirmed, room: "swift")),
            .line(self.line("1", .confirmed, room: "swift")), .line(self.line("3", .confirmed)),
        ])
        #expect(model.unread == ["swift": 2])
        await model.go(to: " swift ")
        #expect(model.unread.isEmpty)
        #expect(model.room == "swift")
        #expect(model.rooms == ["lobby", "swift"])
    }

    @Test
    func `members follow who comes and goes`() async {
        let model = await self.model([
            .members(["bob", "ann"], room: "lobby"), .joined("cy", room: "lobby"), .joined("cy", room: "lobby"),
            .left("bob", room: "lobby"),
        ])
        #expect(model.members["lobby"] == ["ann", "cy"])
    }

    @Test
    func `those who type are shown until they say a line`() async {
        let model = ChatModel(name: "ann", room: "lobby", floor: self.floor)
        for name in ["cy", "bob", "dan"] { self.floor.source.yield(.typing(name, room: "lobby")) }
        self.floor.source.yield(.typing("eve", room: "swift"))
        self.floor.source.yield(.line(self.line("1", .confirmed)))
        self.floor.source.finish()
        await model.run()
        #expect(model.typing == ["cy", "dan"])
    }

    @Test
    func `the connection is shown, and told in a sentence`() async {
        let model = await self.model([
            .connection(.connected(over: "socketio"), sentence: "connected over socketio"),
            .roundTrip(.milliseconds(3)), .waiting(2),
        ])
        #expect(model.status == .connected(over: "socketio"))
        #expect(model.roundTrip == .milliseconds(3))
        #expect(model.waiting == 2)
        #expect(model.entries["lobby"] == [.notice(number: 1, "connected over socketio")])
    }

    @Test
    func `a refusal is shown in the room, and changes nothing`() async {
        let model = await self.model()
        await model.go(to: "nowhere")
        #expect(model.room == "lobby")
        #expect(model.rooms == ["lobby"])
        #expect(model.entries["lobby"] == [.notice(number: 1, "there is no way")])
    }

    @Test
    func `everything that the terminal can do is asked of the floor`() async {
        let model = await self.model()
        await model.say("hi")
        await model.say("  ")
        await model.typed()
        await model.rename(to: "eve")
        await model.use(transport: "websocket")
        await model.tell("bob", "psst")
        await model.setTopic("weather")
        await model.setOnline(false)
        await model.setOnline(true)
        await model.refreshMembers()
        _ = await model.explain()
        #expect(await model.outbox() == "k waiting")
        await model.leave("lobby")
        #expect(await model.finish(within: .seconds(1)) == 0)
        var requests: [String] = []
        for await request in self.floor.requests {
            requests.append(request)
            if request == "drain" { break }
        }
        #expect(
            requests == [
                "say hi", "typing", "nick eve", "transport websocket", "msg bob psst", "topic weather", "offline",
                "online", "who", "explain", "outbox",
                "leave lobby", "drain",
            ])
        #expect(model.name == "eve")
        #expect(model.rooms.isEmpty)
        #expect(model.room == nil)
    }
}
