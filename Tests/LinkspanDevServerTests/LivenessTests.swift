internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import Testing

/// Heartbeats are heard, and pings measured, although no message comes.
@Suite(.timeLimit(.minutes(1)))
struct LivenessTests {
    @Test
    func `a raw WebSocket measures the round trip by its pings`() async throws {
        try await Bench.run(hub: InMemoryHub()) { bench in
            let transport = WebSocketTransport(
                .init { $0.keepAlive = .init(interval: .milliseconds(50), timeout: .seconds(5)) }, loop: bench.loop)
            let manager = ConnectionManager()
            let handler = try await ConnectionBuilder(bench.server.webSocketURL).transport(transport).connect(
                by: manager
            )
            .connected(within: .seconds(30))
            let opened = try #require(handler.status.lastHeard)
            while handler.status.link?.roundTrip == nil { await Task.yield() }
            let status = handler.status
            #expect(try #require(status.link?.roundTrip) > .zero)
            #expect(try #require(status.lastHeard) > opened)
            #expect(status.link?.facts["carrier"] == "websocket", "the other facts stay")
            await manager.shutdown()
        }
    }

    @Test(arguments: [SocketIOTransport.Carriers.webSocket, .polling])
    func `a ping of a Socket.IO server is heard`(_ carriers: SocketIOTransport.Carriers) async throws {
        let server = DevServer.Configuration {
            $0.pingInterval = .milliseconds(300)
            $0.pingTimeout = .seconds(5)
        }
        try await Bench.run(hub: InMemoryHub(), configuration: server) { bench in
            let client = try await bench.client(.socketIO(carriers))
            try await client.connected()
            let opened = try #require(client.handler.status.lastHeard)
            while client.handler.status.lastHeard == opened { await Task.yield() }
            #expect(client.handler.status.link?.roundTrip == nil, "the server pings, and nothing can be measured")
        }
    }
}
