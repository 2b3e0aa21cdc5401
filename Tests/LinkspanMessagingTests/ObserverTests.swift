internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

/// What services and observers hear of connections, beyond messages.
@Suite("Observers of connections", .timeLimit(.minutes(1)))
struct ObserverTests {
    private enum Trouble: Error { case trouble }

    @Test
    func `the core's own renewals are events of the connection`() async throws {
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler)
        let services = ServiceRegistry()
        let journal = Lock<[ConnectionEvent]>([])
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = scheduler
                $0.random = { 0 }
            }, services: services)
        let holder = EventRecorder()
        let registration = services.observe(weak: holder, ConnectionEvent.self) { holder, stamped in
            switch stamped.event.kind {
            case .credentialsObtained, .credentialsRefreshed, .credentialsFailed: ()
            default: return
            }
            journal.withLock { $0.append(stamped.event) }
            holder.note("event")
        }
        let calls = Lock(0)
        let handler = try ConnectionBuilder("scripted://server").transport(transport)
            .credentials(
                .provider { _ in
                    let call = calls.withLock { calls in
                        calls += 1
                        return calls
                    }
                    if call == 2 { throw Trouble.trouble }
                    return Credentials(validFor: .seconds(100))
                }
            ).connect(by: manager)
        func heard(_ count: Int) async throws {
            try await holder.wait(for: "\(count) events") { $0.count >= count }
        }
        try await heard(1)
        // The link opens, and the renewal is due after 80 s.
        await scheduler.run { handler.state == .connected }
        scheduler.advance(by: .seconds(80))
        try await heard(2)
        // The event is told before the next renewal is set, in the same job.
        await scheduler.run { true }
        scheduler.advance(by: .seconds(5))
        try await heard(3)
        let events = journal.withLock { $0 }
        #expect(events.map(\.kind).first == .credentialsObtained(validFor: .seconds(100)))
        guard case .credentialsFailed(1, "credentialsUnavailable", let delay?) = events[1].kind else {
            return #expect(Bool(false), "\(events)")
        }
        #expect(delay > .zero)
        #expect(events[2].kind == .credentialsRefreshed(validFor: .seconds(100), attempt: 2))
        #expect(Set(events.map(\.connection)).count == 1)
        #expect(events[0].connection > 0)
        registration.cancel()
        withExtendedLifetime((handler, holder)) {}
    }

    @Test
    func `the facade takes clock and limits for its manager`() async throws {
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler) { _ in .refusing(LinkspanError(.connectionLost, "no")) }
        let plan = MessagingPlan(url: "scripted://server", transport: transport)
        let messaging = try await Messaging.start(
            plan,
            connections: ConnectionManager.Options {
                $0.scheduler = scheduler
                $0.attempts.spacing = .seconds(3_600)
                $0.random = { 0.5 }
            })
        let handler = try await messaging.connect()
        scheduler.advance(by: .seconds(60))
        #expect(transport.peers.count == 1, "the second attempt keeps its distance")
        #expect(handler.scheduler.now == scheduler.now)
        await messaging.stop()
    }
}
