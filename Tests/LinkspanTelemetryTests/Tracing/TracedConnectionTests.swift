#if Tracing
internal import InMemoryTracing
internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanTesting
internal import LinkspanTelemetry
internal import Testing
internal import Tracing

@Suite("Traced connection")
struct TracedConnectionTests {
    private let tracer = InMemoryTracer()
    private let hub = InMemoryHub(executor: TestExecutor())
    private let manager = ConnectionManager()

    private func channel() throws -> TracedConnection { try self.handler().traced(by: self.tracer) }

    private func handler() throws -> ConnectionHandler {
        self.hub.onConnect { peer in
            peer.on("echo") { $0.reply($0.payload) }
            peer.on("silence") { _ in }
        }
        let configuration = try ConnectionBuilder("memory://traced").transport(.inMemory(self.hub)).build()
        return try self.manager.connect(configuration)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a request is a span of the caller's trace, without its payload`() async throws {
        let channel = try self.channel()
        let (reply, parent) = try await self.tracer.withSpan("parent") { span in
            (try await channel.request("echo", "s3cret"), span.spanID)
        }
        #expect(try reply.decode(String.self) == "s3cret")
        let span = try #require(self.tracer.finishedSpans.first { $0.operationName == "linkspan request" })
        #expect(span.parentSpanID == parent)
        #expect(span.kind == .client)
        #expect(span.status == nil)
        #expect(span.attributes.get("messaging.destination.name") == "echo")
        #expect(span.attributes.get("messaging.message.body.size") == .int64(8))
        #expect(span.attributes.get("linkspan.endpoint") == .string(channel.status.url.description))
        #expect(!"\(span.attributes)".contains("s3cret"))
        await self.manager.shutdown()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a failure is the span's, by its code`() async throws {
        let channel = try self.channel()
        let error = await #expect(throws: LinkspanError.self) {
            try await channel.request("silence", timeout: .milliseconds(20))
        }
        #expect(error?.code == .timedOut)
        let span = try #require(self.tracer.finishedSpans.first)
        #expect(span.status?.code == .error)
        #expect(span.attributes.get("error.type") == "timedOut")
        #expect(span.errors.isEmpty)
        await self.manager.shutdown()
        #expect(throws: LinkspanError.self) { try channel.send("late") }
        #expect(self.tracer.finishedSpans.last?.operationName == "linkspan send")
        #expect(self.tracer.finishedSpans.last?.attributes.get("error.type") == "released")
        #expect(self.tracer.activeSpans.isEmpty)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a cancelled task gives its request up`() async throws {
        let handler = try self.handler()
        let channel = handler.traced(by: self.tracer)
        let recorder = EventRecorder()
        _ = try handler.onAnyOutgoing { recorder.note($0.event) }
        let task = Task { () -> LinkspanError? in
            do throws(LinkspanError) {
                _ = try await channel.request("silence", timeout: .seconds(20))
                return nil
            } catch { return error }
        }
        try await recorder.wait(for: "the request on its way") { !$0.isEmpty }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        #expect(self.tracer.finishedSpans.first?.attributes.get("error.type") == "cancelled")
        #expect(await handler.commands.isEmpty)
        await self.manager.shutdown()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a traced command keeps its identity`() async throws {
        self.hub.cut()
        let handler = try self.handler()
        let channel = handler.traced(by: self.tracer)
        let recorder = EventRecorder()
        let commands = (0..<3).map {
            Command(.send, event: "echo", payload: .empty, completion: recorder.completion("\($0)"))
        }
        for command in commands { try channel.perform(command) }
        #expect(await handler.commands.map { $0.id } == commands.map { $0.id })
        channel.cancel(commands[0].id)
        #expect(await handler.commands.map { $0.id } == commands[1...].map { $0.id })
        handler.cancelCommands { $0.id == commands[2].id }
        try await recorder.wait(for: "two ends") { $0.count == 2 }
        #expect(recorder.endedLabels == ["0", "2"])
        await self.manager.shutdown()
        try await recorder.wait(for: "all ends") { $0.count == 3 }
        #expect(self.tracer.finishedSpans.count == 3)
        #expect(self.tracer.activeSpans.isEmpty)
    }

    @Test(.timeLimit(.minutes(1)))
    func `untraced calls are those of the connection`() async throws {
        let channel = try self.channel()
        let recorder = EventRecorder()
        try channel.on("news") { recorder.note($0.event) }
        _ = channel.onEnd { recorder.note("end") }
        _ = try await channel.request("echo")
        #expect(channel.state == .connected)
        self.hub.emit("news", .empty)
        try await recorder.wait(for: "the news") { !$0.isEmpty }
        #expect(recorder.notes == ["news"])
        await self.manager.shutdown()
        try await recorder.wait(for: "the end") { $0.count == 2 }
    }
}
#endif
