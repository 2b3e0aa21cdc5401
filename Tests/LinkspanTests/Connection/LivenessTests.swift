@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Last heard and round trip", .timeLimit(.minutes(1)))
struct LivenessTests {
    private static let probing: @Sendable (inout ConnectionOptions) -> Void = {
        $0.probeEvent = "latency"
        $0.probeInterval = .seconds(10)
    }

    private func age(_ harness: Harness) -> Duration? {
        harness.connection.status.lastHeard.map { $0.duration(to: harness.scheduler.now) }
    }

    @Test
    func `whatever comes counts as heard, and what the link tells by itself does not`() throws {
        let harness = try Harness.connected()
        #expect(self.age(harness) == .zero)
        harness.scheduler.advance(by: .seconds(3))
        #expect(self.age(harness) == .seconds(3))
        harness.peers.last?.emit("news", .empty)
        harness.scheduler.settle()
        #expect(self.age(harness) == .zero)
        harness.scheduler.advance(by: .seconds(2))
        harness.peers.last?.drop()
        harness.scheduler.settle()
        #expect(harness.connection.state == .reconnecting)
        #expect(self.age(harness) == .seconds(2), "the end of the link comes from the link")
    }

    @Test
    func `before the first link nothing was heard`() throws {
        let harness = try Harness { _ in .refusing(.lost) }
        #expect(harness.connection.status.lastHeard == nil)
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(harness.connection.status.lastHeard == nil)
    }

    @Test
    func `a probe measures at each interval, one at a time, and explain tells it`() throws {
        let harness = try Harness.connected(options: Self.probing) { _ in .delaying(by: .milliseconds(20)) }
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.connection.status.link?.roundTrip == nil)
        #expect(harness.arrived.isEmpty)
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.connection.status.link?.roundTrip == .milliseconds(40))
        #expect(harness.connection.explain().contains("a round trip takes 40 ms."))
        harness.scheduler.advance(by: .seconds(20))
        #expect(harness.arrived == ["latency", "latency", "latency"])
    }

    @Test
    func `without an event nothing is sent`() throws {
        let harness = try Harness.connected()
        harness.scheduler.advance(by: .seconds(600))
        #expect(harness.arrived.isEmpty)
    }

    @Test
    func `a probe without an answer measures nothing, and the next one is sent all the same`() throws {
        let harness = try Harness.connected(options: Self.probing)
        harness.transport.onMessage { _ in }
        harness.scheduler.advance(by: .seconds(35))
        #expect(harness.connection.status.link?.roundTrip == nil)
        #expect(harness.arrived.count == 2)
        #expect(harness.connection.state == .connected)
    }

    @Test
    func `each link is measured anew, and a lost one no more`() throws {
        let harness = try Harness.connected(options: Self.probing)
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.connection.status.link?.roundTrip == .zero)
        harness.peers.last?.drop()
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.connection.state == .connected)
        #expect(harness.connection.status.link?.roundTrip == nil)
        let count = harness.arrived.count
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.arrived.count == count + 1)
    }

    @Test
    func `changed options begin and end it on the open link`() throws {
        let harness = try Harness.connected()
        var options = ConnectionOptions(Self.probing)
        try harness.connection.adjust(options)
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.arrived == ["latency"])
        options.probeEvent = nil
        try harness.connection.adjust(options)
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.arrived == ["latency"])
    }

    @Test
    func `an interval that would flood the server is refused`() throws {
        for interval in [Duration.zero, .milliseconds(999)] {
            let error = #expect(throws: LinkspanError.self) {
                try ConnectionBuilder("scripted://server").transport(ScriptedTransport(scheduler: VirtualScheduler()))
                    .options { $0.probeInterval = interval }.build()
            }
            #expect(error?.code == .invalidConfiguration)
        }
    }

    @Test
    func `what the link measures is kept over changes that do not tell it`() throws {
        let transport = InstantTransport()
        let configuration = try ConnectionBuilder("instant://server").transport(transport).build()
        let inbox = ConnectionInbox(
            executor: transport.executor, destination: Destination(configuration), waiting: ConnectionLoad())
        var info = LinkInfo(sessionID: "a")
        inbox.note(
            StateChange(
                from: .created, to: .connected, reason: .established(info), attempt: 1, time: .now))
        info.roundTrip = .milliseconds(7)
        #expect(inbox.note(info) == .milliseconds(7))
        #expect(inbox.note(info) == nil, "told once")
        info.roundTrip = nil
        info.facts["carrier"] = "websocket"
        #expect(inbox.note(info) == nil)
        #expect(inbox.withState { $0.link }?.roundTrip == .milliseconds(7))
        #expect(inbox.withState { $0.link }?.facts["carrier"] == "websocket")
    }

    @Test(arguments: [
        (LinkspanError.Code.heartbeatMissed, LinkspanError.Code.slowConsumer), (.connectionLost, .slowConsumer),
        (.serverUnavailable, .serverUnavailable),
    ])
    func `a link that is lost while its reading is paused has a slow consumer`(
        code: LinkspanError.Code, expected: LinkspanError.Code
    ) throws {
        let harness = try Harness.connected()
        let (error, connection) = (LinkspanError(code, "in a test"), harness.connection)
        let pause = { isPaused in
            _ = try connection.ask { $0.reader.incoming.setPaused(isPaused, by: 7) }
            #expect(try connection.ask { $0.sender.link?.isReadingPaused } == isPaused)
        }
        try pause(true)
        harness.peers.last?.drop(error)
        harness.scheduler.settle()
        #expect(connection.status.lastError?.code == expected)
        harness.scheduler.advance(by: .seconds(10))
        try pause(false)
        harness.peers.last?.drop(error)
        harness.scheduler.settle()
        #expect(connection.status.lastError?.code == code)
    }
}
