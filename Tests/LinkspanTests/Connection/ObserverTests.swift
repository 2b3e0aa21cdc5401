@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("What an observer hears", .timeLimit(.minutes(1)))
struct ObserverTests {
    /// Notes what its probes hear.
    private final class Notes: ConnectionObserver {
        private let state = Lock<[String]>([])

        /// The lines since this was last asked.
        func take() -> [String] {
            self.state.withLock { state in
                defer { state = [] }
                return state
            }
        }

        final class Probe: ConnectionProbe {
            private var connection: ObservedConnection
            private let notes: Notes

            init(_ connection: ObservedConnection, _ notes: Notes) {
                self.connection = connection
                self.notes = notes
            }

            func moved(to connection: ObservedConnection) {
                self.connection = connection
                self.note("moved \(connection.endpoint)")
            }
            func attempting(_ attempt: Int) { self.note("attempt \(attempt) \(self.connection.endpoint)") }
            func changed(_ change: StateChange) { self.note("\(change.to)") }
            func queueChanged(depth: Int, limit: Int) { self.note("queue \(depth) of \(limit)") }
            func leaving(_ command: Command) { self.note("leaving \(command.event)") }
            func sent(_ command: Command) { self.note("sent \(command.event)") }
            func received(_ event: String, _ payload: borrowing Payload) {
                self.note("received \(event) \(payload.byteCount)")
            }
            func finished(_ command: Command, _ outcome: Result<Payload, LinkspanError>) {
                self.note("finished \(command.event)")
            }

            func measured(roundTrip: Duration) { self.note("measured \(roundTrip)") }
            func credentials(_ event: CredentialEvent) {}

            private func note(_ line: String) { self.notes.state.withLock { $0.append(line) } }
        }

        func observe(_ connection: ObservedConnection) -> any ConnectionProbe { Probe(connection, self) }
    }

    private let notes = Notes()

    private func harness(_ options: (inout ConnectionOptions) -> Void = { _ in }) throws -> Harness {
        let harness = try Harness(observer: self.notes, options: options, script: { _ in .perfect })
        harness.transport.onMessage { $0.reply($0.payload) }
        return harness
    }

    @Test
    func `attempts, states, commands and messages come in order`() throws {
        let harness = try self.harness { $0.buffer.commands = 50 }
        try harness.perform(.request, "early")
        try harness.enter(.connected)
        harness.peers.first?.emit("item", .json("12"))
        harness.scheduler.settle()
        try harness.connection.disconnect()
        #expect(
            self.notes.take() == [
                "queue 1 of 50", "attempt 1 scripted://server/", "connected", "leaving early", "sent early",
                "queue 0 of 50", "finished early", "received item 2", "disconnected",
            ])
    }

    @Test
    func `a plain send is told, whether or not it has listeners`() throws {
        let harness = try self.harness()
        try harness.enter(.connected)
        _ = self.notes.take()
        try harness.connection.send("alone")
        let subscription = try harness.connection.onAnyOutgoing { _ in }
        try harness.connection.send("heard")
        subscription.cancel()
        #expect(self.notes.take() == ["sent alone", "sent heard"])
    }

    @Test
    func `a measurement of the round trip is told by what it measures alone`() throws {
        let harness = try self.harness {
            $0.probeEvent = "latency"
            $0.probeInterval = .seconds(10)
        }
        try harness.enter(.connected)
        _ = self.notes.take()
        harness.scheduler.advance(by: .seconds(10))
        #expect(self.notes.take() == ["measured 0.0 seconds"])
        try harness.perform(.request, "by the app")
        harness.scheduler.settle()
        #expect(self.notes.take() == ["leaving by the app", "sent by the app", "finished by the app"])
    }

    @Test
    func `after a move it gets the new endpoint before the next attempt`() throws {
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler)
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = scheduler
                $0.random = { 0.5 }
            }, observer: self.notes)
        let handler = try ConnectionBuilder("scripted://one").transport(transport).connect(by: manager)
        scheduler.advance(by: .seconds(1))
        try manager.move(handler, to: ConnectionBuilder("scripted://two").transport(transport).build())
        scheduler.advance(by: .seconds(1))
        let attempts = self.notes.take().filter { $0.hasPrefix("attempt") }
        #expect(attempts == ["attempt 1 scripted://one/", "attempt 1 scripted://two/"])
    }

    @Test
    func `it is told when an attempt goes to another endpoint`() throws {
        let harness = try self.harness { $0.endpoints = Endpoints(urls: ["scripted://b"]) }
        harness.transport.onConnect { peer throws(LinkspanError) in if peer.number == 1 { throw .lost } }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(10))
        let moves = self.notes.take().filter { $0.hasPrefix("moved") }
        #expect(moves == ["moved scripted://server/", "moved scripted://b/"])
    }
}
