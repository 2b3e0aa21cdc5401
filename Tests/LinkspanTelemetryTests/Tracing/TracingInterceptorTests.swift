#if Tracing
internal import InMemoryTracing
internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanTesting
@testable internal import LinkspanTelemetry
internal import Testing
internal import Tracing

@Suite("Tracing interceptor", .timeLimit(.minutes(1)))
struct TracingInterceptorTests {
    private let tracer = InMemoryTracer()
    private let server = InMemoryTracer(
        idGenerator: .init(
            nextTraceID: { "server-trace-\(UInt64.random(in: 0 ... .max))" },
            nextSpanID: { "server-span-\(UInt64.random(in: 0 ... .max))" }))
    private let hub = InMemoryHub(executor: TestExecutor())
    private let manager = ConnectionManager()

    private func connect(_ carrier: TracingInterceptor.Carrier = .field("trace")) throws -> ConnectionHandler {
        let url = try ConnectionURL("https://traced.example")
        return try ConnectionBuilder("memory://traced").transport(.inMemory(self.hub))
            .options { $0.interceptors = [TracingInterceptor(carrier: carrier, url: url, tracer: self.tracer)] }
            .connect(by: self.manager)
    }

    /// A server that makes a span of each message, in the trace that comes with it.
    private func serve(_ carrier: TracingInterceptor.Carrier = .field("trace")) {
        let tracing = TracingInterceptor(carrier: carrier, tracer: self.server)
        self.hub.onConnect { peer in
            peer.onOther { message in
                let span = self.server.startSpan(
                    "process \(message.event)", context: tracing.context(of: message.payload), ofKind: .consumer)
                message.reply(.empty)
                span.end()
            }
        }
    }

    @Test(arguments: [TracingInterceptor.Carrier.field("trace"), .lastArgument("trace")])
    func `the server's span is a child of the caller's`(carrier: TracingInterceptor.Carrier) async throws {
        self.serve(carrier)
        let connection = try self.connect(carrier)
        let parent = try await self.tracer.withSpan("page") { span in
            _ = try await connection.request("history", ["room": "lobby"])
            _ = try await connection.deliver("order", ["id": 1], key: "k1")
            try connection.send("typing", ["room": "lobby"])
            _ = try await connection.request("last", ["room": "lobby"])
            return span.context
        }
        let page = try #require(parent.inMemorySpanContext)
        for event in ["history", "order", "typing", "last"] {
            let sent = try #require(self.tracer.finishedSpans.first { $0.operationName.hasSuffix(" \(event)") })
            let processed = try #require(self.server.finishedSpans.first { $0.operationName == "process \(event)" })
            #expect(sent.parentSpanID == page.spanID)
            #expect(sent.traceID == page.traceID)
            #expect(processed.parentSpanID == sent.spanID, "\(event)")
            #expect(processed.traceID == page.traceID)
        }
        await self.manager.shutdown()
        #expect(self.tracer.activeSpans.isEmpty)
    }

    @Test
    func `spans have the names, kinds and attributes of OpenTelemetry's conventions`() async throws {
        self.serve()
        let connection = try self.connect()
        _ = try await connection.request("history", ["room": "s3cret"])
        _ = try await connection.deliver("order", ["id": 1], key: "k1")
        try connection.send("typing", ["room": "lobby"])
        _ = try await connection.request("last", ["room": "lobby"])
        let spans = self.tracer.finishedSpans
        let request = try #require(spans.first { $0.operationName == "request history" })
        #expect(request.kind == .client)
        #expect(request.attributes.get("messaging.system") == "linkspan")
        #expect(request.attributes.get("messaging.operation.name") == "request")
        #expect(request.attributes.get("messaging.operation.type") == "send")
        #expect(request.attributes.get("messaging.destination.name") == "history")
        #expect(request.attributes.get("messaging.message.body.size") == .int64(17))
        #expect(request.attributes.get("server.address") == "traced.example")
        #expect(request.attributes.get("server.port") == .int64(443))
        #expect(!"\(request.attributes)".contains("s3cret"))
        let delivery = try #require(spans.first { $0.operationName == "deliver order" })
        #expect(delivery.kind == .producer)
        #expect(delivery.attributes.get("messaging.message.id") == "k1")
        #expect(spans.first { $0.operationName == "send typing" }?.kind == .producer)
        await self.manager.shutdown()
    }

    @Test
    func `a listener runs inside a span whose parent is the server's, and what it sends belongs to the trace`()
        async throws
    {
        self.serve()
        let connection = try self.connect()
        let recorder = EventRecorder()
        try connection.on("news") { _ in
            recorder.note(ServiceContext.current?.inMemorySpanContext?.spanID ?? "none")
            try? connection.send("seen", [String: Int]())
        }
        _ = try await connection.request("history", [String: Int]())
        let root = self.server.startSpan("publish", ofKind: .producer)
        var fields: [String: String] = [:]
        self.server.inject(root.context, into: &fields, using: Fields())
        var payload = Payload.empty
        try payload.setField("trace", to: fields)
        self.hub.emit("news", payload)
        _ = try await connection.request("last", [String: Int]())
        let process = try #require(self.tracer.finishedSpans.first { $0.operationName == "process news" })
        #expect(process.kind == .consumer)
        #expect(process.attributes.get("messaging.operation.type") == "process")
        #expect(process.parentSpanID == root.context.inMemorySpanContext?.spanID)
        #expect(recorder.notes == [process.spanID])
        let seen = try #require(self.tracer.finishedSpans.first { $0.operationName == "send seen" })
        #expect(seen.parentSpanID == process.spanID)
        root.end()
        await self.manager.shutdown()
    }

    @Test
    func `a failure is the span's by its code, also of a command that is refused`() async throws {
        self.hub.onConnect { peer in peer.onOther { _ in } }
        let connection = try self.connect()
        await #expect(throws: LinkspanError.self) {
            try await connection.request("silence", timeout: .milliseconds(20))
        }
        let span = try #require(self.tracer.finishedSpans.first)
        #expect(span.attributes.get("error.type") == "timedOut")
        #expect(span.status?.code == .error)
        await self.manager.shutdown()
        #expect(throws: LinkspanError.self) { try connection.send("late") }
        #expect(self.tracer.activeSpans.isEmpty)
    }

    @Test
    func `a trace that has nothing to carry changes no message, and one behind the arguments stands for itself`() throws
    {
        let payload = try Payload(["room": "lobby"])
        for carrier in [TracingInterceptor.Carrier.field("trace"), .lastArgument("trace")] {
            var command = Command(.send, event: "typing", payload: payload)
            try TracingInterceptor(carrier: carrier, tracer: NoOpTracer()).accept(&command)
            #expect(command.payload == payload)
        }
        for (payload, count) in [(Payload.empty, 1), (payload, 2)] {
            var command = Command(.send, event: "typing", payload: payload)
            try TracingInterceptor(carrier: .lastArgument("trace"), tracer: self.tracer).accept(&command)
            let arguments = try Payload(checking: command.payload.elements)
            #expect(arguments.values.count == count && arguments.values.last?["trace"] != nil)
            command.finish(.success(.empty))
        }
    }

    @Test
    func `a message without a place for the trace travels as it is`() async throws {
        let recorder = EventRecorder()
        self.hub.onConnect { peer in
            peer.onOther {
                recorder.note(String(decoding: $0.payload.elements, as: UTF8.self))
                $0.reply(.empty)
            }
        }
        let connection = try self.connect()
        _ = try await connection.request("room", "lobby")
        #expect(recorder.notes == [#""lobby""#])
        #expect(self.tracer.finishedSpans.count == 1)
        await self.manager.shutdown()
    }

    private struct Fields: Injector {
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
    }
}
#endif
