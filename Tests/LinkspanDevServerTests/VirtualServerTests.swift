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
        let clock = VirtualScheduler()
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.onOther { $0.reply($0.payload) } }
        let server = DevServer(hub: hub, scheduler: clock)
        try await server.start()
        let manager = ConnectionManager(options: .init { $0.scheduler = clock })
        let connection = try ConnectionBuilder(server.socketIOURL).transport(.socketIO).connect(by: manager)
        try await connection.connected(within: .seconds(30))
        let reply = try await connection.request("quick", 1)
        #expect(try reply.decode(Int.self) == 1)

        let start = ContinuousClock.now
        server.delay(.seconds(8))
        let pending = clock.pendingCount
        let slow = Task { () -> LinkspanError? in
            do throws(LinkspanError) {
                _ = try await connection.request("slow", timeout: .seconds(5))
                return nil
            } catch { return error }
        }
        // The timeout of the client and the delay of the server.
        await clock.run { clock.pendingCount >= pending + 2 }
        clock.advance(by: .seconds(5))
        #expect(await slow.value?.code == .timedOut)
        clock.advance(by: .seconds(3))
        server.delay(.zero)
        #expect(try await connection.request("again", 2).decode(Int.self) == 2)
        #expect(start.duration(to: .now) < .seconds(4))
        connection.release()
        await manager.shutdown()
        await server.stop()
    }
}
