internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol
internal import Testing

/// WebSockets that are closed while their owner wants nothing to be read; no time passes on their loops.
@Suite(.timeLimit(.minutes(1)))
struct ClosingTests {
    /// A message, a pong, and the answer to a Close frame of code 1000.
    private static let farewell: [UInt8] = [0x81, 1, 0x48, 0x8A, 0, 0x88, 2, 0x03, 0xE8]

    @Test(arguments: [false, true])
    func `a channel whose reading is paused reads the server's Close frame, and hands over no message before it`(
        _ pausesAgain: Bool
    ) throws {
        var server: ScriptedStream?
        let loop = ScriptedLoop { request, stream in
            _ = try? stream.upgrade(request)
            server = stream
        }
        let recorder = ChannelRecorder()
        let upgrade = StreamRequest(host: "server", port: 80, isSecure: false)
        let channel = loop.enter { WebSocketChannel(upgrade, on: loop, handler: recorder) }
        loop.run()
        let stream = try #require(server)
        loop.enter {
            channel.setReadingPaused(true)
            stream.say(Self.farewell)
        }
        loop.run()
        #expect(recorder.messages.isEmpty && recorder.ends.isEmpty)
        loop.enter {
            channel.close()
            if pausesAgain { channel.setReadingPaused(true) }
        }
        loop.run()
        #expect(recorder.messages.isEmpty)
        guard case .closed(let event)? = recorder.ends.first else {
            Issue.record("\(recorder.ends)")
            return
        }
        #expect(event.wasClean && event.code == .normal)
        #expect(recorder.ends.count == 1)
    }

    @Test
    func `a channel that is closed in the pause behind a message reads the server's Close frame after it`() throws {
        var server: (session: WebSocketSession, stream: ScriptedStream)?
        let loop = ScriptedLoop { request, stream in
            server = (try? stream.upgrade(request)).map { ($0, stream) }
        }
        let recorder = ChannelRecorder()
        let upgrade = StreamRequest(host: "server", port: 80, isSecure: false)
        let channel = loop.enter { WebSocketChannel(upgrade, compression: .init(), on: loop, handler: recorder) }
        loop.run()
        var (session, stream) = try #require(server)
        var bytes: [UInt8] = []
        for _ in 0..<2 {
            _ = session.send(.binary, payload: [UInt8](repeating: 0, count: 1 << 20)[...], into: &bytes)
        }
        loop.enter {
            stream.say(bytes)
            channel.setReadingPaused(true)
            stream.say(Self.farewell)
            channel.close()
        }
        loop.run()
        #expect(recorder.messages.count == 1 && recorder.ends.isEmpty)
        // The end of the pause; the close deadline is behind it.
        loop.fireTimers(first: 1)
        #expect(recorder.messages.count == 1)
        guard case .closed(let event)? = recorder.ends.first else {
            Issue.record("\(recorder.ends)")
            return
        }
        #expect(event.wasClean)
    }

    @Test
    func `a link whose reading is paused ends when the server answers its close, and hears nothing before`() throws {
        let wire = ScriptedWire(nil)
        let link = try wire.open()
        wire.loop.enter { link.setReadingPaused(true) }
        wire.say(bytes: Self.farewell)
        wire.loop.run()
        #expect(wire.events.isEmpty && wire.ends.isEmpty)
        wire.loop.enter { link.close() }
        wire.loop.run()
        #expect(wire.ends == [.connectionLost])
        #expect(wire.events.isEmpty)
    }
}
