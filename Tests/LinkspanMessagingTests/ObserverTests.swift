internal import Linkspan
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

/// What services and observers hear of connections, beyond messages.
@Suite("Observers of connections", .timeLimit(.minutes(1)))
struct ObserverTests {
    /// An observer of one's own, without services.
    private final class Notes: ConnectionObserver {
        let lines = Lock<[String]>([])

        final class Probe: ConnectionProbe {
            private var connection: ObservedConnection
            private let notes: Notes

            init(_ connection: ObservedConnection, _ notes: Notes) {
                self.connection = connection
                self.notes = notes
            }

            func moved(to connection: ObservedConnection) { self.connection = connection }
            func attempting(_ attempt: Int) { self.note("attempt \(attempt) \(self.connection.endpoint)") }
            func changed(_ change: StateChange) { self.note("\(change.to)") }
            func queueChanged(depth: Int, limit: Int) { self.note("queue \(depth)") }
            func leaving(_ command: Command) { self.note("leaving \(command.event)") }
            func sent(_ command: Command) { self.note("sent \(command.event)") }
            func received(_ event: String, _ payload: borrowing Payload) {
                self.note("received \(event) \(payload.byteCount)")
            }
            func finished(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
                self.note("finished \(command.event)")
            }

            func measured(roundTrip: Duration) { self.note("measured") }
            func credentials(_ event: CredentialEvent) {}

            private func note(_ line: String) { self.notes.lines.withLock { $0.append(line) } }
        }

        func observe(_ connection: ObservedConnection) -> any ConnectionProbe { Probe(connection, self) }
    }

    @Test
    func `an observer hears attempts, states, commands and messages in order`() throws {
        let (scheduler, notes) = (VirtualScheduler(), Notes())
        let transport = ScriptedTransport(scheduler: scheduler)
        transport.onMessage { $0.reply($0.payload) }
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = scheduler
                $0.random = { 0.5 }
            }, observer: notes)
        let handler = try ConnectionBuilder("scripted://server?token=1").transport(transport).connect(by: manager)
        try handler.perform(Command(.request, event: "early", payload: .empty))
        scheduler.settle()
        transport.openPeers.first?.emit("item", .json("12"))
        scheduler.settle()
        try handler.disconnect()
        scheduler.settle()
        let lines = notes.lines.withLock { $0 }
        #expect(
            lines == [
                "attempt 1 scripted://server/", "queue 1", "connected", "leaving early", "sent early", "queue 0",
                "finished early", "received item 2", "disconnected",
            ])
    }

    @Test
    func `after a move the observer gets the new endpoint before the next attempt`() throws {
        let (scheduler, notes) = (VirtualScheduler(), Notes())
        let transport = ScriptedTransport(scheduler: scheduler)
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = scheduler
                $0.random = { 0.5 }
            }, observer: notes)
        let handler = try ConnectionBuilder("scripted://one").transport(transport).connect(by: manager)
        scheduler.advance(by: .seconds(1))
        try manager.move(handler, to: ConnectionBuilder("scripted://two").transport(transport).build())
        scheduler.advance(by: .seconds(1))
        let attempts = notes.lines.withLock { $0.filter { $0.hasPrefix("attempt") } }
        #expect(attempts == ["attempt 1 scripted://one/", "attempt 1 scripted://two/"])
    }

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
