internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO
internal import LinkspanWebSocketProtocol
internal import TestedBackEnds
internal import Testing

/// What a link does with a message, down to the bytes.
@Suite("Sending over a link", .timeLimit(.minutes(1)), .overSomeBackEnd)
struct SendingTests {
    @Test(arguments: [true, false])
    func `a message that must not be compressed is not, and those around it are`(isSocketIO: Bool) throws {
        let wire = ScriptedWire(isSocketIO ? .webSocket : nil, compression: .init())
        let link = try wire.open()
        let text = String(repeating: "compressible ", count: 100)
        let before = wire.writes.count
        for isCompressible in [true, false, true] {
            let message = OutboundMessage(
                event: "say", payload: try Payload(text, Data(text.utf8)), isCompressible: isCompressible)
            #expect(wire.loop.enter { link.send(message) } == .accepted)
        }
        let writes = wire.writes[before...]
        #expect(writes.map { $0[0] & 0x40 != 0 } == [true, false, true])
        #expect(writes.map { $0.count > 2 * text.utf8.count } == [false, true, false])
        let heard = wire.heard()
        #expect(heard.suffix(6).filter { $0.contains(text) }.count == 6)
    }

    @Test
    func `an open link reports its carrier, and again after an upgrade`() throws {
        let wire = ScriptedWire(.upgrade)
        let link = try wire.open()
        #expect(wire.carrierNames == ["polling"])
        #expect(wire.heard().last == "2probe")
        wire.say("3probe")
        wire.answerPoll("6")
        #expect(wire.carrierNames == ["polling", "websocket"])
        #expect(wire.ends.isEmpty)
        withExtendedLifetime(link) {}
    }

    @Test
    func `a message that waits for an upgrade is compressed by the WebSocket only if it may be`() throws {
        let wire = ScriptedWire(.upgrade, compression: .init())
        let link = try wire.open()
        wire.say("3probe")
        let text = String(repeating: "compressible ", count: 100)
        for isCompressible in [true, false] {
            let message = OutboundMessage(event: "say", payload: try Payload(text), isCompressible: isCompressible)
            #expect(wire.loop.enter { link.send(message) } == .accepted)
        }
        let before = wire.writes.count
        wire.answerPoll("6")
        let writes = wire.writes[before...].filter { $0[0] & 0x0F == 1 && $0.count > 20 }
        #expect(writes.map { $0[0] & 0x40 != 0 } == [true, false])
        #expect(wire.heard().filter { $0.contains(text) }.count == 2)
    }

    @Test(arguments: [true, false])
    func `a stream tells of room whatever its high-water mark is`(isSocketIO: Bool) throws {
        let wire = ScriptedWire(isSocketIO ? .webSocket : nil, highWaterMark: 4_096)
        let link = try wire.open()
        #expect(wire.requests.map { $0.lowWaterMark <= 4_096 } == [true])
        withExtendedLifetime(link) {}
    }

    @Test
    func `a polling session that closes goes on while its server answers`() throws {
        let wire = ScriptedWire(.polling)
        let link = try wire.open()
        wire.holdsPosts = true
        for number in 0..<40 {
            let message = OutboundMessage(event: "say", payload: try Payload(number))
            #expect(wire.loop.enter { link.send(message) } == .accepted)
        }
        wire.loop.run()
        wire.loop.enter { link.close(code: nil, reason: "") }
        wire.loop.run()
        for _ in 0..<2 {
            let former = wire.loop.timerCount
            wire.answerPost()
            wire.loop.fireTimers(first: former)
            #expect(wire.ends.isEmpty)
        }
        wire.answerPost()
        #expect(wire.heard().joined().contains("39"))
    }

    @Test(arguments: [SocketIOCarriers.polling, .webSocket])
    func `without negotiated compression the option has no effect`(carriers: SocketIOCarriers) throws {
        let wire = ScriptedWire(carriers)
        let link = try wire.open()
        let message = OutboundMessage(event: "say", payload: try Payload("hello"), isCompressible: false)
        #expect(wire.loop.enter { link.send(message) } == .accepted)
        wire.loop.run()
        #expect(wire.heard().last == #"42["say","hello"]"#)
    }

    /// What a process finds that was suspended: the deadline has passed, and no timer has fired (E08).
    @Test(arguments: [SocketIOCarriers.polling, .webSocket])
    func `a message is kept for the next link when the heartbeat is overdue`(
        carriers: SocketIOCarriers
    ) throws {
        let wire = ScriptedWire(carriers)
        let link = try wire.open()
        let message = OutboundMessage(event: "say", payload: try Payload("hello"))
        #expect(wire.loop.enter { link.send(message) } == .accepted)
        wire.loop.run()
        // The shortest patience that is believed is 2 s.
        wire.loop.suspend(for: .milliseconds(2_001))
        #expect(wire.loop.enter { link.send(message) } == .refused)
        wire.loop.run()
        wire.loop.fireTimers()
        let said = wire.heard().filter { $0.contains("say") }
        #expect(said.count == 1, "nothing was written to a server that is long gone")
        #expect(wire.ends == [.heartbeatMissed])
    }

    @Test
    func `a message is sent when the heartbeat was due and something has come`() throws {
        let wire = ScriptedWire(.webSocket)
        let link = try wire.open()
        wire.loop.suspend(for: .milliseconds(2_001))
        wire.say("2")
        let message = OutboundMessage(event: "say", payload: try Payload("hello"))
        #expect(wire.loop.enter { link.send(message) } == .accepted)
    }
}
