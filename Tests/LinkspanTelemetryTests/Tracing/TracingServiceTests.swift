#if Tracing
internal import InMemoryTracing
internal import LinkspanConfiguration
internal import LinkspanLifecycle
internal import LinkspanMessaging
@testable internal import LinkspanTelemetry
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

    private func connected() -> ConnectionEvent {
        self.connection(.connected(attempt: 2, handshake: .zero, resumed: true, transport: "memory"))
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
    func `an attempt that was called off failed for that, and one that is replayed is none`() async throws {
        try await run([TracingService(tracer: self.tracer)]) { registry in
            registry.emit(self.connection(.connecting(attempt: 1)))
            registry.emit(self.connection(.disconnected(reason: "requested", code: nil, willRetry: false)))
        }
        #expect(self.tracer.finishedSpans.map { $0.attributes.get("error.type") } == ["cancelled"])
        for isReplayed in [true, false] {
            var book = SpanBook()
            let drafts = [self.connection(.connecting(attempt: 1)), self.connected()].map { event in
                book.note(Stamped(event, seq: 1, time: .now, replayed: isReplayed))
            }
            #expect(drafts.map { $0 != nil } == [false, !isReplayed])
        }
    }

    @Test
    func `times are reckoned back, not into the future and not before the epoch`() {
        let now = DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 10_000_000_000)
        let spans: [Duration] = [.milliseconds(2_500), .zero, .seconds(-1), .seconds(11), .seconds(Int64.max)]
        let times = spans.map { now.reckonedBack(by: $0).nanosecondsSinceEpoch }
        #expect(times == [7_500_000_000, 10_000_000_000, 10_000_000_000, 0, 0])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(.timeLimit(.minutes(1)))
    func `configuration alone switches it on`() async throws {
        #expect(try services(.tracing(tracer: self.tracer), nil).isEmpty)
        let on = try services(.tracing(tracer: self.tracer), "enabled: [tracing]")
        try await run(on) { registry in
            registry.emit(self.connection(.connecting(attempt: 1)))
            registry.emit(self.connected())
        }
        #expect(self.tracer.finishedSpans.map { $0.operationName } == ["linkspan connect"])
        #expect(throws: ConfigurationError.self) {
            try services(.tracing(tracer: self.tracer), "enabled: [tracing]\ntracing: {spans: [sent]}")
        }
    }
}
#endif
