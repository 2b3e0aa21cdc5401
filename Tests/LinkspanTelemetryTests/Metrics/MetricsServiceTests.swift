#if Metrics
internal import CoreMetrics
internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanLifecycle
@testable internal import LinkspanMessaging
@testable internal import LinkspanTelemetry
internal import MetricsTestKit
internal import ServiceFixtures
internal import Testing

@Suite("Metrics service")
struct MetricsServiceTests {
    private let metrics = TestMetrics()
    private let endpoint = "ws://chat.example/lobby"

    private func connection(_ kind: ConnectionEvent.Kind, _ number: UInt64 = 7) -> ConnectionEvent {
        ConnectionEvent(connection: number, endpoint: self.endpoint, kind: kind)
    }

    private func traffic(_ set: (inout TrafficEvent.Totals) -> Void) -> TrafficEvent {
        var totals = TrafficEvent.Totals()
        set(&totals)
        return TrafficEvent(connection: 7, event: "chat", totals: totals)
    }

    private func connected(_ time: Duration) -> ConnectionEvent {
        self.connection(.connected(attempt: 1, handshake: time, resumed: false, transport: "memory"))
    }

    private func total(_ name: String, _ labels: [(String, String)] = []) -> Int64 {
        self.metrics.counterTotal(label: name, dimensions: [("endpoint", self.endpoint)] + labels)
    }

    @Test(.timeLimit(.minutes(1)))
    func `connects, reconnects, disconnects by code and handshakes are measured`() async throws {
        try await run([MetricsService(factory: self.metrics)]) { registry in
            registry.emit(self.connection(.created))
            registry.emit(self.connection(.disconnected(reason: "requested", code: nil, willRetry: false)))
            registry.emit(self.connection(.disconnected(reason: "no", code: "nameNotResolved", willRetry: true)))
            registry.emit(self.connected(.milliseconds(5)))
            registry.emit(self.connection(.disconnected(reason: "reset", code: "connectionLost", willRetry: true)))
            registry.emit(self.connected(.milliseconds(7)))
            registry.emit(self.connection(.measured(roundTrip: .milliseconds(3))))
            registry.emit(self.connection(.disconnected(reason: "requested", code: nil, willRetry: false)))
            registry.emit(self.connection(.released))
        }
        #expect(self.total("linkspan_connects_total") == 1)
        #expect(self.total("linkspan_reconnects_total") == 1)
        #expect(self.total("linkspan_failed_attempts_total", [("code", "nameNotResolved")]) == 1)
        #expect(self.metrics.counters(label: "linkspan_failed_attempts_total").count == 1, "a stop is none")
        #expect(self.total("linkspan_disconnects_total", [("code", "connectionLost")]) == 1)
        #expect(self.total("linkspan_disconnects_total", [("code", "requested")]) == 1)
        let timer = try self.metrics.expectTimer("linkspan_handshake_time", [("endpoint", self.endpoint)])
        #expect(timer.values == [5_000_000, 7_000_000])
        let pings = try self.metrics.expectTimer("linkspan_ping_time", [("endpoint", self.endpoint)])
        #expect(pings.values == [3_000_000])
    }

    @Test(.timeLimit(.minutes(1)))
    func `messages are counted by what became of them, and round trips are timed`() async throws {
        try await run([MetricsService(factory: self.metrics)]) { registry in
            registry.emit(self.connected(.zero))
            for number in 1...3 {
                registry.emit(self.traffic { ($0.sent, $0.sentBytes) = (number, 10 * number) })
            }
            registry.emit(
                self.traffic {
                    ($0.sent, $0.sentBytes, $0.received, $0.receivedBytes) = (3, 30, 1, 10)
                    ($0.acknowledged, $0.roundTrips) = (1, .microseconds(20))
                    ($0.timedOut, $0.expired, $0.dropped) = (1, 1, 1)
                })
        }
        #expect(self.total("linkspan_sent_total") == 3)
        #expect(self.total("linkspan_sent_bytes_total") == 30)
        #expect(self.total("linkspan_received_total") == 1)
        #expect(self.total("linkspan_received_bytes_total") == 10)
        #expect(self.total("linkspan_delivered_total") == 1)
        #expect(self.total("linkspan_timed_out_total") == 1)
        #expect(self.total("linkspan_expired_total") == 1)
        #expect(self.total("linkspan_dropped_total") == 1)
        let timer = try self.metrics.expectTimer("linkspan_round_trip_time", [("endpoint", self.endpoint)])
        #expect(timer.values == [20_000])
    }

    @Test
    func `of a count that did not grow nothing is recorded`() {
        var increase = TrafficEvent.Totals()
        #expect(MetricsBook().note(increase, of: 7).isEmpty)
        (increase.received, increase.receivedBytes) = (1, 2)
        let labels: KeyValuePairs = ["endpoint": "unknown"]
        #expect(
            MetricsBook().note(increase, of: 7) == [
                Measurement("received_total", labels, .count(1)),
                Measurement("received_bytes_total", labels, .count(2)),
            ])
    }

    @Test
    func `an attempt that fails after a loss is no second loss`() {
        var book = MetricsBook()
        let lost = self.connection(.disconnected(reason: "reset", code: "connectionLost", willRetry: true))
        let events = [self.connected(.zero), lost, lost]
        let names = events.flatMap { book.note($0, isReplayed: false) }.map(\.series.name)
        #expect(names == ["connects_total", "handshake_time", "disconnects_total", "failed_attempts_total"])
    }

    @Test
    func `a queue that was flushed is empty, and a connection that moves without one has no depth`() {
        var book = MetricsBook()
        let other = ConnectionEvent(connection: 7, endpoint: "ws://other.example/", kind: .connecting(attempt: 2))
        for event in [self.connection(.created), other] { #expect(book.note(event, isReplayed: false).isEmpty) }
        let events = [ConnectionEvent.Kind.queueChanged(depth: 5, limit: 10), .queueFlushed(count: 5, time: .zero)]
        let values = events.flatMap { book.note(self.connection($0), isReplayed: false) }.map(\.value)
        #expect(values == [.level(5), .level(0)])
    }

    @Test
    func `a time that nanoseconds cannot count is the longest one`() throws {
        var instruments = Instruments(prefix: "a", factory: self.metrics)
        instruments.record(Measurement("time", [:], .times(.seconds(Int64.max))))
        #expect(try self.metrics.expectTimer("a_time").values == [.max])
    }

    @Test(.timeLimit(.minutes(1)))
    func `the messages of a connection that was released are counted to the end`() async throws {
        try await run([MetricsService(factory: self.metrics)]) { registry in
            registry.emit(self.connected(.zero))
            await registry.barrier(self.traffic { $0.sent = 3 })
            await registry.barrier(self.connection(.released))
            registry.emit(self.connected(.zero))
            await registry.barrier(self.traffic { $0.sent = 1 })
        }
        #expect(self.total("linkspan_sent_total") == 4)
    }

    @Test
    func `the prefix of names changes while the service runs`() {
        #expect(ServiceFactory.metrics().options.map(\.reload) == [.hot])
    }

    @Test(.timeLimit(.minutes(1)))
    func `the depth of a queue is that of all connections of its endpoint`() async throws {
        try await run([MetricsService(factory: self.metrics)]) { registry in
            for (number, depth) in [(7 as UInt64, 5), (8, 3)] {
                registry.emit(self.connection(.created, number))
                registry.emit(self.connection(.queueNearlyFull(depth: depth, limit: 10), number))
            }
            registry.emit(self.connection(.queueChanged(depth: 6, limit: 10), 7))
            registry.emit(self.connection(.released, 7))
        }
        let labels = [("endpoint", self.endpoint)]
        let gauge = try self.metrics.expectGauge("linkspan_queue_depth", labels)
        #expect(gauge.values == [5, 8, 9, 3])
    }

    @Test(.timeLimit(.minutes(1)))
    func `a connection that moves takes the depth of its queue along`() async throws {
        let other = "ws://other.example/lobby"
        try await run([MetricsService(factory: self.metrics)]) { registry in
            registry.emit(self.connection(.created))
            registry.emit(self.connection(.queueNearlyFull(depth: 5, limit: 10)))
            registry.emit(ConnectionEvent(connection: 7, endpoint: other, kind: .connecting(attempt: 2)))
        }
        #expect(try self.metrics.expectGauge("linkspan_queue_depth", [("endpoint", self.endpoint)]).values == [5, 0])
        #expect(try self.metrics.expectGauge("linkspan_queue_depth", [("endpoint", other)]).values == [5])
    }

    @Test(.timeLimit(.minutes(1)))
    func `faults and missed events are counted`() async throws {
        var settings = ServiceSettings()
        settings.budgets = Budgets(mailbox: 4)
        let registry = ServiceRegistry()
        try registry.register(MetricsService(factory: self.metrics), settings: settings).keep()
        // Held until the service is ready, so that the mailbox overflows for sure.
        for _ in 0..<10 { registry.emit(FaultEvent(path: "presence", code: .handlerFailed, message: "gone")) }
        registry.emit(FaultEvent(path: "presence", code: .handlerFailed, message: "gone", severity: .error))
        try await registry.start()
        await registry.stop()
        let faults = self.metrics.counterTotal(
            label: "linkspan_faults_total", dimensions: [("code", "handlerFailed"), ("severity", "error")])
        let missed = self.metrics.counterTotal(label: "linkspan_events_missed_total")
        #expect(faults == 1)
        #expect(missed >= 7)
    }

    @Test(.timeLimit(.minutes(1)))
    func `messages that come faster than they are handled are counted exactly`() async throws {
        var settings = ServiceSettings()
        settings.budgets = Budgets(mailbox: 4)
        let registry = ServiceRegistry()
        try registry.register(MetricsService(factory: self.metrics), settings: settings).keep()
        try await registry.start()
        registry.emit(self.connected(.zero))
        for number in 1...1_000 {
            registry.emit(
                self.traffic {
                    ($0.sent, $0.sentBytes, $0.acknowledged, $0.dropped) = (number, 10 * number, number, number / 10)
                    $0.roundTrips = .microseconds(number * (number - 1) / 2)
                })
        }
        await registry.stop()
        #expect(self.total("linkspan_sent_total") == 1_000)
        #expect(self.total("linkspan_sent_bytes_total") == 10_000)
        #expect(self.total("linkspan_delivered_total") == 1_000)
        #expect(self.total("linkspan_dropped_total") == 100)
        #expect(self.metrics.counterTotal(label: "linkspan_events_missed_total") == 0)
        let timer = try self.metrics.expectTimer("linkspan_round_trip_time", [("endpoint", self.endpoint)])
        #expect(timer.values.count == 1_000)
        // The means of intervals are whole nanoseconds, so that each may be short of one.
        #expect(abs(timer.values.reduce(0, +) - 499_500_000) <= 1_000)
    }

    @Test(.timeLimit(.minutes(1)))
    func `labels stay within bounds, whatever the endpoints and codes are`() async throws {
        try await run([MetricsService(factory: self.metrics)]) { registry in
            for number in 0..<500 as Range<UInt64> {
                registry.emit(
                    ConnectionEvent(
                        connection: number, endpoint: "ws://host\(number)/",
                        kind: .disconnected(reason: "no", code: "code\(number)", willRetry: false)))
            }
        }
        let counters = self.metrics.counters(label: "linkspan_failed_attempts_total")
        #expect(counters.count == 65)
        #expect(counters.reduce(0) { $0 + $1.totalValue } == 500)
        #expect(
            self.metrics.counterTotal(
                label: "linkspan_failed_attempts_total", dimensions: [("endpoint", "other"), ("code", "other")]) == 436)
    }

    @Test(.timeLimit(.minutes(1)))
    func `replayed state is not counted again`() async throws {
        let registry = ServiceRegistry()
        try await registry.start()
        registry.emit(self.connected(.zero))
        registry.emit(self.traffic { $0.sent = 5 })
        let registration = try registry.register(MetricsService(factory: self.metrics))
        #expect(await registration.settled() == .ready)
        registry.emit(self.connection(.disconnected(reason: "reset", code: "connectionLost", willRetry: true)))
        registry.emit(self.connected(.zero))
        registry.emit(self.traffic { $0.sent = 7 })
        await registry.stop()
        #expect(self.total("linkspan_sent_total") == 2)
        #expect(self.total("linkspan_connects_total") == 0)
        #expect(self.total("linkspan_disconnects_total", [("code", "connectionLost")]) == 1)
        #expect(self.total("linkspan_reconnects_total") == 1)
    }

    @Test(.timeLimit(.minutes(1)))
    func `changed options hold from the next event on`() async throws {
        let service = MetricsService(factory: self.metrics)
        try await run([service]) { registry in
            await registry.barrier(self.traffic { $0.sent = 1 })
            await service.use(prefix: "app")
            await registry.barrier(self.traffic { $0.sent = 2 })
        }
        #expect(self.metrics.counterTotal(label: "linkspan_sent_total") == 1)
        #expect(self.metrics.counterTotal(label: "app_sent_total") == 1)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(.timeLimit(.minutes(1)))
    func `configuration alone switches it on and names its metrics`() async throws {
        let off = try services(.metrics(factory: self.metrics), nil)
        #expect(off.isEmpty)
        let on = try services(.metrics(factory: self.metrics), "enabled: [metrics]\nmetrics: {prefix: chat}")
        #expect(on.map { $0.name } == ["metrics"])
        try await run(on) { registry in registry.emit(self.connected(.zero)) }
        #expect(self.total("chat_connects_total") == 1)
        #expect(throws: ConfigurationError.self) {
            try services(.metrics(factory: self.metrics), "enabled: [metrics]\nmetrics: {prefix: 'a b'}")
        }
    }
}
#endif
