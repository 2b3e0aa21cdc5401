@testable import Linkspan
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Recorded conversations", .timeLimit(.minutes(1)))
struct RecordedConversationTests {
    private let recording = """
        {"at":0.0,"from":"server","event":"welcome","arguments":[{"rooms":["lobby"]}]}
        {"at":0.5,"from":"client","event":"join","arguments":["lobby"]}
        {"at":1.5,"from":"server","event":"join","reply":true,"arguments":[{"ok":true}]}
        {"at":2.0,"from":"server","event":"line","arguments":["hello"]}
        {"at":3.0,"from":"client","event":"say","arguments":["hi"]}
        {"at":3.5,"from":"server","event":"say","reply":true,"arguments":[1]}
        """

    @Test
    func `a recording is a fake server, which takes no time unless it is told to`() throws {
        for (isPaced, seconds) in [(false, 0), (true, 1)] {
            let harness = try Harness()
            harness.transport.play(try Conversation(text: self.recording), isPaced: isPaced)
            let recorder = harness.recorder
            try harness.connection.onAny { recorder.note("\($0.event) \($0.payload.text)") }
            try harness.connection.connect()
            harness.scheduler.settle()
            try harness.perform(.request, "join")
            harness.scheduler.settle()
            #expect(harness.isSuccess("join") == !isPaced)
            harness.scheduler.advance(by: .seconds(seconds))
            #expect(harness.isSuccess("join"))
            harness.scheduler.advance(by: .seconds(seconds))
            try harness.perform(.request, "say")
            harness.scheduler.advance(by: .seconds(seconds))
            #expect(harness.isSuccess("say"))
            #expect(recorder.notes == [#"welcome {"rooms":["lobby"]}"#, #"line "hello""#])
            try harness.perform(.request, "say", timeout: .seconds(1))
            harness.scheduler.advance(by: .seconds(1))
            #expect(harness.failure("say") == nil)
            #expect(harness.transport.unexpected == ["say"])
        }
    }

    @Test
    func `a conversation over a real connection is recorded, and is the same as text`() async throws {
        let hub = InMemoryHub(executor: TestExecutor())
        hub.onConnect { peer in
            peer.on("join") { message in
                message.reply(.json(#"{"ok":true}"#))
                peer.emit("line", .json(#""hello""#))
            }
        }
        let recorder = ConversationRecorder()
        let manager = ConnectionManager()
        let connection = try ConnectionBuilder("memory://recorded").transport(.inMemory(hub))
            .options { $0.interceptors = [recorder] }.connect(by: manager)
        let heard = EventRecorder()
        try heard.watch(connection, events: ["line"])
        _ = try await connection.request("join", "lobby")
        try await heard.wait(for: "the line") { $0.contains { if case .message = $0 { true } else { false } } }
        let lines = recorder.conversation.lines
        #expect(lines.map(\.event) == ["join", "join", "line"])
        #expect(lines.map(\.side) == [.client, .server, .server])
        #expect(lines.map(\.isReply) == [false, true, false])
        let text = recorder.conversation.text
        #expect(try Conversation(text: text).text == text)
        #expect(text.contains(#""from":"client","event":"join","arguments":["lobby"]}"#))
        await manager.shutdown()
    }

    @Test
    func `a line that cannot be read is named`() {
        let error = #expect(throws: LinkspanError.self) {
            try Conversation(text: self.recording + "\n{\"from\":\"nobody\"}")
        }
        #expect(error?.message.hasPrefix("line 7 of the conversation") == true)
    }

    @Test
    func `run within moves the clock from one piece of work to the next`() async throws {
        let harness = try Harness { $0 < 4 ? .refusing(.lost) : .perfect }
        try harness.connection.connect()
        #expect(await harness.scheduler.run(within: .seconds(60)) { harness.connection.state == .connected })
        #expect(harness.peers.count == 4)
        let time = harness.scheduler.elapsed
        #expect(await !harness.scheduler.run(within: .seconds(5)) { harness.peers.count == 5 })
        #expect(harness.scheduler.elapsed <= time + .seconds(5))
    }
}
