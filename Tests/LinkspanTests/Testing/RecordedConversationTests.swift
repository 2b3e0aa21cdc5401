internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@testable import Linkspan

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

@Suite("The event recorder", .timeLimit(.minutes(1)))
struct EventRecorderTests {
    @Test
    func `waiting ends with the entry that was waited for, also when it is there already`() async throws {
        let recorder = EventRecorder()
        async let waiting: Void = recorder.wait(for: "two notes") { $0.count == 2 }
        recorder.note("a")
        recorder.note("b")
        try await waiting
        try await recorder.wait(for: "two notes") { $0.count == 2 }
    }

    @Test
    func `a missed event is named, with the recorded ones`() async {
        let recorder = EventRecorder()
        recorder.note("something else")
        let missed = await #expect(throws: EventRecorder.Missed.self) {
            try await recorder.wait(for: "the miracle", within: .milliseconds(20)) { _ in false }
        }
        #expect(missed?.description.contains("the miracle did not happen within 0.02 seconds") == true)
        #expect(missed?.description.contains("note: something else") == true)
    }

    @Test
    func `a cancelled wait ends at once`() async {
        let recorder = EventRecorder()
        let task = Task { try await recorder.wait(for: "nothing", within: .seconds(50)) { _ in false } }
        task.cancel()
        await #expect(throws: EventRecorder.Missed.self) { try await task.value }
    }
}
