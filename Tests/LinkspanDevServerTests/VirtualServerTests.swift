internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanTesting
internal import Testing

@Suite("A server on a virtual clock", .timeLimit(.minutes(1)))
struct VirtualServerTests {
    @Test
    func `a slow acknowledgement and its timeout over a real wire take no time`() async throws {
        let (clock, serverClock) = (VirtualScheduler(), VirtualScheduler())
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.onOther { $0.reply($0.payload) } }
        let server = DevServer(hub: hub, scheduler: serverClock)
        try await server.start()
        let manager = ConnectionManager(options: .init { $0.scheduler = clock })
        let connection = try ConnectionBuilder(server.socketIOURL).transport(.socketIO).connect(by: manager)
        try await connection.connected(within: .seconds(30))
        let reply = try await connection.request("quick", 1)
        #expect(try reply.decode(Int.self) == 1)

        server.delay(.seconds(8))
        let slow = Task { () -> LinkspanError? in
            do throws(LinkspanError) {
                _ = try await connection.request("slow", timeout: .seconds(5))
                return nil
            } catch { return error }
        }
        // The server has the request, and holds it back.
        await serverClock.run { serverClock.pendingCount > 0 }
        clock.advance(by: .seconds(5))
        #expect(await slow.value?.code == .timedOut)
        server.delay(.zero)
        serverClock.advance(by: .seconds(8))
        #expect(try await connection.request("again", 2).decode(Int.self) == 2)
        connection.release()
        await manager.shutdown()
        await server.stop()
    }

    @Test
    func `a restart leaves the port closed for as long as it is told`() async throws {
        let clock = VirtualScheduler()
        let server = DevServer(hub: InMemoryHub(), scheduler: clock)
        let port = try await server.start()
        async let restart: Void = server.restart(after: .seconds(60))
        await clock.pending(atLeast: 1)
        clock.advance(by: .seconds(59))
        #expect(clock.pendingCount == 1)
        clock.advance(by: .seconds(1))
        try await restart
        #expect(server.port == port)
        await #expect(throws: LinkspanError.self, "it runs again") { try await server.start() }
        await server.stop()
    }
}
