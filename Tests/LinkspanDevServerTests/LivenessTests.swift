internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import TestSupport
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
            try await eventually { handler.status.link?.roundTrip != nil }
            let status = handler.status
            #expect(try #require(status.link?.roundTrip) > .zero)
            #expect(try #require(status.lastHeard) > opened)
            #expect(status.link?.facts["carrier"] == "websocket", "the other facts stay")
            await manager.shutdown()
        }
    }

    @Test(arguments: [SocketIOCarriers.webSocket, .polling])
    func `a ping of a Socket.IO server is heard`(_ carriers: SocketIOCarriers) async throws {
        let server = DevServerConfiguration {
            $0.pingInterval = .milliseconds(300)
            $0.pingTimeout = .seconds(5)
        }
        try await Bench.run(hub: InMemoryHub(), configuration: server) { bench in
            let client = try await bench.client(.socketIO(carriers))
            try await client.connected()
            let opened = try #require(client.handler.status.lastHeard)
            try await eventually { client.handler.status.lastHeard != opened }
            #expect(client.handler.status.link?.roundTrip == nil, "the server pings, and nothing can be measured")
        }
    }

    /// As after a listener that took longer than the heartbeat allows: the time is over, and a message of the server, sent
    /// meanwhile, waits to be read.
    @Test(arguments: [SocketIOCarriers.webSocket, .polling])
    func `a busy client reads what has arrived before it gives a Socket.IO server up`(
        _ carriers: SocketIOCarriers
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

    @Test
    func `a ping of a Socket.IO server puts the one timer off, which would fire for nothing otherwise`() throws {
        let wire = ScriptedWire(.webSocket)
        let link = try wire.open()
        for _ in 0..<3 {
            let before = wire.loop.timerCount
            wire.loop.suspend(for: .milliseconds(1_100))
            wire.say("2")
            #expect(wire.loop.timerCount == before + 1 && wire.loop.timerInstants.count == 1)
        }
        // Not for each of many.
        wire.loop.suspend(for: .milliseconds(900))
        let before = wire.loop.timerCount
        wire.say("2", "2")
        #expect(wire.loop.timerCount == before)
        // What comes during a last look does not put off its end.
        wire.loop.suspend(for: .milliseconds(2_001))
        wire.loop.fireTimers()
        #expect(wire.loop.timerInstants.count == 1)
        wire.say("2")
        #expect(wire.loop.timerCount == 1)
        withExtendedLifetime(link) {}
    }

    /// As with listeners that take longer than the heartbeat allows for what one read brings, and more arriving meanwhile.
    @Test(arguments: [SocketIOCarriers.webSocket, .polling])
    func `a client that is busy with each read gives a Socket.IO server up only when nothing comes`(
        _ carriers: SocketIOCarriers
    ) throws {
        let wire = ScriptedWire(carriers)
        let link = try wire.open()
        for _ in 0..<3 {
            wire.loop.suspend(for: .milliseconds(2_001))
            wire.loop.fireTimers()
            carriers == .polling ? wire.answerPoll("6") : wire.say("6")
            wire.loop.suspend(for: .milliseconds(2_001))
            wire.loop.fireTimers()
            try #require(wire.ends.isEmpty)
        }
        wire.loop.suspend(for: .milliseconds(2_001))
        wire.loop.fireTimers()
        wire.loop.suspend(for: .milliseconds(2_001))
        wire.loop.fireTimers()
        #expect(wire.ends == [.heartbeatMissed])
        withExtendedLifetime(link) {}
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

    @Test
    func `pings of a raw WebSocket are four times as rare while data is saved`() throws {
        let wire = ScriptedWire(nil)
        let link = try wire.open()
        /// Whether the next ping comes after a minute, rather than after 15 s.
        func isRare() -> [Bool] { wire.loop.timerInstants.map { wire.loop.now.duration(to: $0) >= .seconds(60) } }
        #expect(isRare() == [false])
        for savesData in [true, false] {
            wire.loop.enter { link.saveData(savesData) }
            wire.loop.fireTimers()
            // The answer ends the wait for it: the next ping is all that is due.
            wire.say(bytes: [0x8A, 0])
            #expect(isRare() == [savesData])
        }
        #expect(wire.ends.isEmpty)
    }

    /// As with a message of 400 KB at 64 kbit/s.
    @Test(arguments: [0, 100_000])
    func `the answer to a raw WebSocket's ping is awaited while what was written before it leaves`(
        writtenBehind: Int
    ) throws {
        let wire = ScriptedWire(nil)
        let link = try wire.open()
        wire.pendingBytes = 400_000
        wire.loop.fireTimers()
        if writtenBehind > 0 {
            let text = String(repeating: "a", count: writtenBehind)
            let message = OutboundMessage(event: "say", payload: try Payload(text))
            #expect(wire.loop.enter { link.send(message) } == .accepted)
        }
        for left in [80_000, 160_000] {
            wire.pendingBytes = 400_000 - left + writtenBehind
            wire.loop.fireTimers()
            #expect(wire.ends.isEmpty)
        }
        wire.loop.fireTimers()
        #expect(wire.ends.isEmpty)
        wire.loop.fireTimers()
        #expect(wire.ends == [.heartbeatMissed])
    }

    @Test(arguments: [SocketIOCarriers.webSocket, .polling], [true, false])
    func `an attachment may take any time while it comes, over Socket.IO`(
        _ carriers: SocketIOCarriers, _ isComing: Bool
    ) throws {
        let wire = ScriptedWire(carriers)
        let link = try wire.open()
        let header = #"451-["file",{"_placeholder":true,"num":0}]"#
        let part = [UInt8](repeating: UInt8(ascii: "A"), count: 100_000)
        let text = String(decoding: part, as: UTF8.self)
        carriers == .polling ? wire.answerPoll(header) : wire.say(header)
        if isComing {
            carriers == .polling ? wire.answerPoll(part: "b" + text, isFirst: true) : wire.say(bytes: Self.frame)
        }
        for _ in 0..<3 {
            wire.loop.suspend(for: .seconds(31))
            switch (carriers, isComing) {
            case (.polling, true): wire.answerPoll(part: text)
            case (.polling, false): wire.answerPoll("2")
            case (_, true): wire.say(bytes: part)
            case (_, false): wire.say("2")
            }
            wire.loop.fireTimers()
        }
        #expect(wire.ends == (isComing ? [] : [.protocolViolation]))
        withExtendedLifetime(link) {}
    }

    @Test(arguments: [true, false])
    func `an attachment may take any time while it comes, over a raw WebSocket`(_ isComing: Bool) throws {
        let wire = ScriptedWire(nil)
        let link = try wire.open()
        wire.say(#"{"event":"file","data":[{"_placeholder":true,"num":0}],"attachments":1}"#)
        if isComing { wire.say(bytes: Self.frame) }
        for _ in 0..<3 {
            // A pong that nobody asked for proves life without being part of a message.
            wire.say(bytes: isComing ? [UInt8](repeating: 0, count: 100_000) : [0x8A, 0])
            wire.loop.fireTimers()
        }
        #expect(wire.ends == (isComing ? [] : [.protocolViolation]))
        withExtendedLifetime(link) {}
    }

    /// The beginning of a binary frame of a million bytes.
    private static let frame: [UInt8] = [0x82, 127, 0, 0, 0, 0, 0, 0x0F, 0x42, 0x40]
}
