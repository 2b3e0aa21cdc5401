internal import LinkspanServices
internal import LinkspanLifecycle
@testable internal import LinkspanMessaging
internal import ServiceFixtures
internal import Testing

@Suite("Journal service")
struct JournalServiceTests {
    private func connection(_ kind: ConnectionEvent.Kind) -> ConnectionEvent {
        ConnectionEvent(connection: 7, endpoint: "ws://chat.example/lobby", kind: kind)
    }

    private func traffic(_ set: (inout TrafficEvent.Totals) -> Void) -> TrafficEvent {
        var totals = TrafficEvent.Totals()
        set(&totals)
        return TrafficEvent(connection: 7, event: "chat", totals: totals)
    }

    @Test(.timeLimit(.minutes(1)))
    func `events of all families are kept in order`() async throws {
        let journal = JournalService()
        try await run([journal]) { registry in
            registry.emit(self.connection(.connecting(attempt: 1)))
            registry.emit(AppEvent.didBecomeActive)
            registry.emit(NetworkEvent(status: .satisfied, interfaces: [.wifi]))
            registry.emit(PressureEvent.memory(.warning, available: nil))
            registry.emit(self.traffic { $0.expired = 1 })
            registry.emit(self.connection(.queueNearlyFull(depth: 9, limit: 10)))
            registry.emit(self.connection(.credentialsObtained(validFor: .seconds(60))))
            registry.emit(ConnectionEvent(connection: 0, endpoint: "", kind: .credentialsRevoked))
            registry.emit(self.connection(.disconnected(reason: "reset", code: "connectionLost", willRetry: true)))
        }
        let told = journal.entries.map { $0.event }.filter { !$0.hasPrefix("service") }
        #expect(
            told == [
                "connecting attempt=1 connection=7 endpoint=ws://chat.example/lobby", "app active",
                "network satisfied interfaces=wifi expensive=false constrained=false", "memory pressure warning",
                "traffic event=chat sent=0 received=0 acknowledged=0 timedOut=0 expired=1 dropped=0 connection=7",
                "queue nearly full depth=9 limit=10 connection=7 endpoint=ws://chat.example/lobby",
                "credentials obtained validFor='60.0 seconds' connection=7 endpoint=ws://chat.example/lobby",
                "credentials revoked",
                "disconnected code=connectionLost reason=reset willRetry=true connection=7 "
                    + "endpoint=ws://chat.example/lobby",
            ])
        #expect(journal.entries.contains { $0.event.hasPrefix("services started") })
        #expect(journal.entries.map { $0.seq } == journal.entries.map { $0.seq }.sorted())
    }

    @Test(.timeLimit(.minutes(1)))
    func `text of a server is kept in one line, control characters escaped`() async throws {
        let journal = JournalService()
        try await run([journal]) { registry in
            let reason = "\u{1B}[2J\nconnection 7 connected" + String(repeating: "x", count: 5_000)
            registry.emit(self.connection(.disconnected(reason: reason, code: nil, willRetry: true)))
        }
        let line = try #require(journal.entries.map(\.event).first { $0.contains("disconnected") })
        #expect(line.contains("reason='\\u{1b}[2J\\u{a}connection 7 connectedx") && line.count < 1_100)
    }

    @Test(.timeLimit(.minutes(1)))
    func `the oldest make room, and how many is known`() async throws {
        let journal = JournalService(options: JournalService.Options(capacity: 3))
        try await run([journal]) { registry in
            for attempt in 1...10 { registry.emit(self.connection(.connecting(attempt: attempt))) }
            await registry.barrier(AppEvent.didBecomeActive)
            let entries = journal.entries
            #expect(entries.count == 3)
            #expect(entries.last?.event == "app active")
            #expect(journal.summary.dropped >= 8)
            #expect(journal.report.contains("3 entries, \(journal.summary.dropped) older ones dropped"))
            journal.options = JournalService.Options(capacity: 1)
            #expect(journal.entries.map { $0.event } == ["app active"])
            journal.options = JournalService.Options(capacity: 0)
            await registry.barrier(AppEvent.didBecomeActive)
            #expect(journal.entries.isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `messages that went well are counted and take no room`() async throws {
        let journal = JournalService()
        try await run([journal]) { registry in
            for number in 1...20 { registry.emit(self.traffic { $0.sent = number }) }
            // Waited for, so that the totals without a failure are not replaced.
            await registry.barrier(self.traffic { ($0.sent, $0.received, $0.acknowledged) = (20, 1, 1) })
            registry.emit(self.traffic { ($0.sent, $0.received, $0.acknowledged, $0.dropped) = (20, 1, 1, 1) })
        }
        let told = journal.entries.map { $0.event }.filter { $0.hasPrefix("traffic") }
        #expect(
            told == ["traffic event=chat sent=20 received=1 acknowledged=1 timedOut=0 expired=0 dropped=1 connection=7"]
        )
        #expect(journal.summary.sent == 20)
        #expect(journal.report.contains("20 sent, 1 acknowledged, 1 received"))
    }

    @Test(.timeLimit(.minutes(1)))
    func `the messages of a connection that was released are no part of those of the next one with its number`()
        async throws
    {
        let journal = JournalService()
        try await run([journal]) { registry in
            await registry.barrier(self.traffic { $0.sent = 5 })
            await registry.barrier(self.connection(.released))
            await registry.barrier(self.traffic { $0.sent = 6 })
        }
        #expect(journal.summary.sent == 11)
        #expect(journal.report.contains(" 0 older ones dropped"))
    }

    @Test(.timeLimit(.minutes(1)))
    func `messages that come faster than the journal keeps them are counted exactly`() async throws {
        let journal = JournalService()
        let registry = ServiceRegistry()
        try registry.register(journal, settings: ServiceSettings(budgets: Budgets(mailbox: 4))).keep()
        try await registry.start()
        for number in 1...1_000 { registry.emit(self.traffic { $0.sent = number }) }
        for number in 1...100 { registry.emit(self.traffic { ($0.sent, $0.expired) = (1_000, number) }) }
        await registry.stop()
        #expect(journal.summary.sent == 1_000)
        // Events of other families may well be lost in so small a mailbox.
        #expect(journal.entries.allSatisfy { !$0.event.hasPrefix("traffic") || $0.gap == 0 })
        #expect(journal.entries.contains { $0.event.contains("expired=100 ") })
    }

    @Test(.timeLimit(.minutes(1)))
    func `gaps are known`() async throws {
        let journal = JournalService()
        let registry = ServiceRegistry()
        try registry.register(journal, settings: ServiceSettings(budgets: Budgets(mailbox: 4))).keep()
        let fault = FaultEvent(path: "presence", code: .handlerFailed, message: "gone")
        for _ in 0..<20 { registry.emit(fault) }
        try await registry.start()
        // The next one tells how many before it are missing.
        registry.emit(fault)
        await registry.stop()
        #expect(journal.summary.missed > 0)
        #expect(journal.entries.contains { $0.gap > 0 })
        #expect(journal.report.contains("gap="))
    }

    @Test(.timeLimit(.minutes(1)))
    func `errors thrown by handlers are not kept`() async throws {
        let journal = JournalService()
        try await run([journal]) { registry in
            registry.emit(FaultEvent(path: "chat", code: .handlerFailed, message: "threw: s3cret", hint: "s3cret"))
            registry.emit(
                RegistryEvent.serviceChanged(path: "chat", from: .ready, to: .failed("threw: s3cret")))
        }
        #expect(journal.entries.contains { $0.event == "fault severity=warning path=chat code=handlerFailed" })
        #expect(journal.entries.contains { $0.event == "service changed path=chat from=ready to=failed" })
        #expect(!journal.report.contains("s3cret"))
    }

    @Test(.timeLimit(.minutes(1)))
    func `the report tells the age of entries`() async throws {
        let later = ContinuousClock.now + .seconds(100)
        let journal = JournalService(now: { later })
        try await run([journal]) { registry in registry.emit(AppEvent.didBecomeActive) }
        let line = journal.report.split(separator: "\n").first { $0.hasSuffix("app active") }
        #expect(line?.hasPrefix("-9") == true, "\(journal.report)")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(.timeLimit(.minutes(1)))
    func `configuration alone switches it on and sets its capacity`() async throws {
        #expect(try services(.journal, nil).isEmpty)
        let on = try services(.journal, "enabled: [journal]\njournal: {capacity: 2}")
        let journal = try #require(on.first as? JournalService)
        try await run(on) { registry in
            for attempt in 1...10 { registry.emit(self.connection(.connecting(attempt: attempt))) }
        }
        #expect(journal.entries.count == 2)
    }
}
