#if canImport(Combine) || OpenCombine
internal import Linkspan
internal import LinkspanReactive
internal import LinkspanInMemory
internal import LinkspanTesting
internal import Testing

#if canImport(Combine)
internal import Combine
#else
internal import OpenCombine
#endif

@Suite("Publishers of states", .timeLimit(.minutes(1)))
struct StatePublisherTests {
    let lobby = Lobby()

    @Test
    func `a new connection begins with created`() throws {
        let scheduler = VirtualScheduler()
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = scheduler
            })
        let transport = ScriptedTransport(scheduler: scheduler)
        let connection = try ConnectionBuilder("scripted://server").transport(transport).connect(by: manager)
        let reader = Reader<ConnectionState>()
        connection.statePublisher.subscribe(reader)
        #expect(reader.values == [.created])
        scheduler.settle()
        #expect(reader.values == [.created, .connected])
    }

    @Test
    func `the present state comes first, then each change once, then the end`() async throws {
        let connection = try self.lobby.connect()
        let reader = Reader<ConnectionState>()
        connection.statePublisher.subscribe(reader)
        #expect(reader.values == [.connected])
        self.lobby.hub.cut()
        #expect(reader.values == [.connected, .disconnected, .reconnecting])
        self.lobby.hub.restore()
        self.lobby.scheduler.advance(by: .seconds(60))
        #expect(reader.values.suffix(1) == [.connected])
        #expect(reader.completions == 0)
        await self.lobby.manager.shutdown()
        #expect(reader.values.suffix(3) == [.connected, .disconnected, .released])
        #expect(reader.completions == 1)
        #expect(reader.violations == [])
        withExtendedLifetime(connection) {}
    }

    @Test
    func `a released connection publishes released and completes`() async throws {
        let connection = try self.lobby.connect()
        await self.lobby.manager.shutdown()
        let reader = Reader<ConnectionState>()
        connection.statePublisher.subscribe(reader)
        #expect(reader.values == [.released])
        #expect(reader.completions == 1)
    }

    @Test
    func `states wait for a subscriber that asks for one at a time`() throws {
        let connection = try self.lobby.connect()
        let reader = Reader<ConnectionState>(.max(1))
        connection.statePublisher.subscribe(reader)
        try connection.disconnect()
        #expect(reader.values == [.connected])
        reader.request(1)
        #expect(reader.values == [.connected, .disconnected])
        reader.cancel()
        try connection.connect()
        reader.request(1)
        #expect(reader.values == [.connected, .disconnected])
    }
}
#endif
