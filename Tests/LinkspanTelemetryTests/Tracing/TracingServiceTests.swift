#if Tracing
internal import InMemoryTracing
internal import LinkspanConfiguration
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanTelemetry
internal import ServiceFixtures
internal import Testing
internal import Tracing

@Suite("Tracing service")
struct TracingServiceTests {
    private let tracer = InMemoryTracer()
    private let endpoint = "ws://chat.example/lobby"

    private func connection(_ kind: ConnectionEvent.Kind) -> ConnectionEvent {
        ConnectionEvent(connection: 7, endpoint: self.endpoint, kind: kind)
    }

    private func message(_ kind: MessageEvent.Kind) -> MessageEvent {
        MessageEvent(connection: 7, event: "chat", bytes: 10, kind: kind)
    }

    private func connected() -> ConnectionEvent {
        self.connection(.connected(attempt: 2, handshake: .zero, resumed: true, transport: "memory"))
    }

    private func lasting(_ span: FinishedInMemorySpan) -> Duration {
        .nanoseconds(Int64(span.endInstant.nanosecondsSinceEpoch - span.startInstant.nanosecondsSinceEpoch))
    }

    @Test(.timeLimit(.minutes(1)))
    func `attempts to connect become spans with their outcome`() async throws {
        try await run([TracingService(tracer: self.tracer)]) { registry in
            registry.emit(self.connection(.connecting(attempt: 1)))
            registry.emit(self.connection(.disconnected(reason: "text", code: "nameNotResolved", willRetry: true)))
            registry.emit(self.connection(.connecting(attempt: 2)))
            registry.emit(self.connected())
            // Not the end of an attempt.
            registry.emit(self.connection(.disconnected(reason: "text", code: "connectionLost", willRetry: true)))
        }
        let spans = self.tracer.finishedSpans
        try #require(spans.count == 2)
        #expect(spans.map { $0.operationName } == ["linkspan connect", "linkspan connect"])
        #expect(spans.map { $0.kind } == [.client, .client])
        #expect(spans[0].status?.code == .error)
        #expect(spans[0].attributes.get("error.type") == "nameNotResolved")
        #expect(spans[0].attributes.get("linkspan.endpoint") == .string(self.endpoint))
        #expect(spans[1].status == nil)
        #expect(spans[1].attributes.get("linkspan.attempt") == .int64(2))
        #expect(spans[1].attributes.get("linkspan.transport") == "memory")
        #expect(spans[1].attributes.get("linkspan.resumed") == true)
        #expect(spans.allSatisfy { "\($0.attributes)".contains("text") == false })
    }

    @Test(.timeLimit(.minutes(1)))
    func `messages become spans as long as their round trip was`() async throws {
        let before = DefaultTracerClock.now.nanosecondsSinceEpoch
        try await run([TracingService(tracer: self.tracer)]) { registry in
            registry.emit(self.connected())
            registry.emit(self.message(.sent))
            registry.emit(self.message(.acknowledged(roundTrip: .seconds(2))))
            registry.emit(self.message(.timedOut(limit: .seconds(3))))
            registry.emit(self.message(.received))
            registry.emit(self.message(.expired))
            registry.emit(self.message(.dropped(reason: "full")))
        }
        let spans = self.tracer.finishedSpans
        #expect(
            spans.map { $0.operationName } == [
                "linkspan send", "linkspan request", "linkspan request", "linkspan send", "linkspan send",
            ])
        #expect(spans.map(self.lasting) == [.zero, .seconds(2), .seconds(3), .zero, .zero])
        #expect(
            spans.map { $0.attributes.get("error.type") } == [nil, nil, "timedOut", "expired", "dropped"])
        #expect(spans.map { $0.status?.code } == [nil, nil, .error, .error, .error])
        for span in spans {
            #expect(span.attributes.get("messaging.system") == "linkspan")
            #expect(span.attributes.get("messaging.destination.name") == "chat")
            #expect(span.attributes.get("messaging.message.body.size") == .int64(10))
            #expect(span.attributes.get("linkspan.endpoint") == .string(self.endpoint))
            // The wall clock may have been set meanwhile, but not by a minute.
            #expect(span.endInstant.nanosecondsSinceEpoch + 60_000_000_000 > before)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `only what is wanted becomes a span`() async throws {
        let service = TracingService(options: TracingService.Options(spans: [.request]), tracer: self.tracer)
        try await run([service]) { registry in
            registry.emit(self.connection(.connecting(attempt: 1)))
            registry.emit(self.connected())
            registry.emit(self.message(.sent))
            registry.emit(self.message(.acknowledged(roundTrip: .seconds(2))))
        }
        #expect(self.tracer.finishedSpans.map { $0.operationName } == ["linkspan request"])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(.timeLimit(.minutes(1)))
    func `configuration alone switches it on and chooses its spans`() async throws {
        #expect(try services(.tracing(tracer: self.tracer), nil).isEmpty)
        let on = try services(.tracing(tracer: self.tracer), "enabled: [tracing]\ntracing: {spans: [send]}")
        try await run(on) { registry in
            registry.emit(self.message(.sent))
            registry.emit(self.message(.acknowledged(roundTrip: .seconds(2))))
        }
        #expect(self.tracer.finishedSpans.map { $0.operationName } == ["linkspan send"])
        #expect(throws: ConfigurationError.self) {
            try services(.tracing(tracer: self.tracer), "enabled: [tracing]\ntracing: {spans: [sent]}")
        }
    }
}
#endif
