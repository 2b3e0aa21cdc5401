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

    /// As after a listener that took longer than the heartbeat allows: the time is over, and a message of the server, sent
    /// meanwhile, waits to be read.
    @Test(arguments: [SocketIOTransport.Carriers.webSocket, .polling])
    func `a busy client reads what has arrived before it gives a Socket.IO server up`(
        _ carriers: SocketIOTransport.Carriers
    ) throws {
        let wire = ScriptedWire(carriers)
        let link = try wire.open()
        // The shortest patience that is believed is 2 s.
        wire.loop.suspend(for: .milliseconds(2_001))
        wire.loop.fireTimers()
        carriers == .polling ? wire.answerPoll("2") : wire.say("2")
        wire.loop.fireTimers()
        #expect(wire.ends.isEmpty)
        let message = OutboundMessage(event: "say", payload: try Payload("hello"))
        #expect(wire.loop.enter { link.send(message) } == .accepted)
    }

    @Test(arguments: [true, false])
    func `a busy client reads what has arrived before it gives a raw WebSocket up`(_ hasArrived: Bool) throws {
        let wire = ScriptedWire(nil)
        let link = try wire.open()
        // The time to ping, and the time that the answer may take.
        wire.loop.fireTimers()
        wire.loop.fireTimers()
        #expect(wire.ends.isEmpty)
        if hasArrived { wire.say(#"{"event":"say"}"#) }
        wire.loop.fireTimers()
        #expect(wire.ends == (hasArrived ? [] : [.heartbeatMissed]))
        withExtendedLifetime(link) {}
    }
}
