internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol
internal import Testing

@testable import LinkspanSocketIO

/// What stands before a server may agree to a WebSocket, and then cut it or pass nothing on.
@Suite("A fallback behind the agreement to a WebSocket")
struct CarrierChangeTests {
    /// The ways in which a WebSocket ends before it has brought a session about.
    enum Ending: CaseIterable, Sendable {
        case silence, cut, unavailable, nonsense

        /// Whether polling comes first from then on, once it has worked.
        var teaches: Bool { self == .silence || self == .nonsense }
    }

    private func end(_ bench: EngineBench, by ending: Ending) {
        switch ending {
        case .silence:
            bench.loop.now += .seconds(60)
            // What has arrived is read once more first.
            for _ in 0..<2 { bench.loop.fireTimers() }
        case .cut: bench.loop.enter { bench.stream?.finish(readingAtMost: 0) }
        case .unavailable: bench.say(.close, [0x03, 0xF5] + Array("full".utf8))
        case .nonsense: bench.say("hello")
        }
    }

    @Test(arguments: Ending.allCases)
    func `the links go on over polling within the same attempt`(_ ending: Ending) throws {
        let bench = EngineBench(carriers: .fallback)
        let clients = [try bench.open("/a"), try bench.open("/b")]
        #expect(bench.requests == ["an upgrade"])
        self.end(bench, by: ending)
        try #require(bench.requests == ["an upgrade", "GET"])
        bench.answer(1, with: bench.handshake)
        try #require(bench.requests.dropFirst(2) == ["GET", "POST 40/a,\u{1E}40/b,"])
        let answers = ["/a", "/b"].map { #"40\#($0),{"sid":"s"}"# + "\u{1E}42\($0),[\"e\"]" }
        bench.answer(2, with: answers.joined(separator: "\u{1E}"))
        #expect(clients.map(\.messages) == [["e"], ["e"]])
        #expect(clients.map(\.ends) == [[], []])
    }

    /// A session over polling, after a WebSocket that did not serve, of a server that offers WebSockets.
    private func fallenBack(maxPayload: Int = 1_000_000) throws -> (EngineBench, EngineBench.Client) {
        let bench = EngineBench(carriers: .fallback)
        let client = try bench.open("/a")
        self.end(bench, by: .nonsense)
        let limit = #"["websocket"],"maxPayload":\#(maxPayload)"#
        bench.answer(1, with: bench.handshake.replacing("[]", with: limit))
        bench.answerPoll(with: #"40/a,{"sid":"s"}"#)
        bench.answerPost()
        return (bench, client)
    }

    // After a Close frame the server has some time to end the stream.
    @Test(arguments: Ending.allCases.filter { $0 != .unavailable })
    func `no timer outlives the session, over whichever carriers it was opened`(_ ending: Ending) throws {
        let bench = EngineBench(carriers: .fallback)
        let client = try bench.open("/a")
        #expect(bench.loop.pendingTimers > 0)
        self.end(bench, by: ending)
        bench.answerPoll(with: bench.handshake)
        bench.answerPost()
        bench.answerPoll(with: #"40/a,{"sid":"s"}"#)
        #expect(bench.loop.pendingTimers > 0)
        bench.refusePoll(status: 400)
        #expect(client.ends == [.connectionLost])
        #expect(bench.loop.pendingTimers == 0)
    }

    @Test
    func `a WebSocket that ends before the session leaves no timer, and no link that leaves`() throws {
        let bench = EngineBench(carriers: .fallback)
        let clients = [try bench.open("/a"), try bench.open("/b")]
        bench.end(clients[0], politely: true)
        bench.stream?.pendingBytes = 100
        // The server does not answer the ping; then its goodbye waits behind what is not sent.
        bench.loop.fireTimers(within: .milliseconds(500))
        #expect(clients[0].ends.isEmpty)
        self.end(bench, by: .cut)
        #expect(clients.map(\.ends) == [[.connectionLost], []])
        #expect(bench.requests == ["an upgrade", "GET"])
        bench.loop.fireTimers(within: .milliseconds(500))
        #expect(bench.loop.pendingTimers == 0)
    }

    @Test
    func `no timer outlives a session that was open over its WebSocket`() throws {
        let bench = EngineBench()
        let client = try bench.opened("/a")
        #expect(bench.loop.pendingTimers > 0)
        bench.cut()
        #expect(client.ends == [.connectionLost])
        #expect(bench.loop.pendingTimers == 0)
    }

    @Test(arguments: Ending.allCases)
    func `only what tells of WebSockets has polling come first the next time`(_ ending: Ending) throws {
        let bench = EngineBench(carriers: .fallback)
        let client = try bench.open("/a")
        self.end(bench, by: ending)
        try #require(bench.requests == ["an upgrade", "GET"])
        bench.answer(1, with: bench.handshake)
        bench.end(client, politely: false)
        let requests = bench.requests.count
        _ = try bench.open("/a")
        #expect(bench.requests[requests] == (ending.teaches ? "GET" : "an upgrade"))
    }

    @Test
    func `a session that fell back to polling has a WebSocket tried beside it, again and again, and goes on over it`()
        throws
    {
        let (bench, client) = try self.fallenBack()
        let upgrades = { bench.requests.filter { $0 == "an upgrade" }.count }
        #expect(upgrades() == 1)
        for count in [2, 3] {
            bench.loop.fireTimers()
            #expect(upgrades() == count)
            if count == 2 { bench.loop.enter { bench.stream?.finish(readingAtMost: 0) } }
        }
        bench.say("3probe")
        bench.answerPoll(with: "6")
        bench.say(#"42/a,["e"]"#)
        #expect(client.messages == ["e"])
        #expect(client.ends.isEmpty)
    }

    @Test
    func `a reader that pauses during the change is not read to from the WebSocket`() throws {
        let (bench, client) = try self.fallenBack()
        bench.loop.fireTimers()
        let webSocket = try #require(bench.stream)
        bench.loop.enter { client.link?.setReadingPaused(true) }
        bench.say("3probe")
        bench.answerPoll(with: "6")
        #expect(webSocket.pauses == [true])
    }

    @Test
    func `after the change the WebSocket says what was heard last, and nothing waits for another carrier`() throws {
        let (bench, client) = try self.fallenBack()
        bench.loop.fireTimers()
        let carrier = try #require(bench.engine(of: client)?.carrier)
        #expect(carrier.isChanging)
        #expect(client.info.facts["carrier"] == "polling")
        bench.say("3probe")
        bench.answerPoll(with: "6")
        #expect(!carrier.isChanging)
        #expect(client.info.facts["carrier"] == "websocket")
        bench.loop.now += .seconds(1)
        // The first byte of a frame.
        bench.say(bytes: [0x81])
        #expect(carrier.lastHeard == bench.loop.moment)
        bench.cut()
        #expect(client.ends == [.connectionLost])
        #expect(bench.loop.pendingTimers == 0)
    }

    @Test(arguments: [true, false])
    func `what is too large for polling alone waits for the end of the change, however that ends`(
        isChanged: Bool
    ) throws {
        let (bench, client) = try self.fallenBack(maxPayload: 1_400)
        bench.loop.fireTimers()
        let blob = [UInt8](repeating: 0, count: 1_300)
        let message = OutboundMessage(
            event: "e",
            payload: Payload(trustedElements: bytes(#"{"_placeholder":true,"num":0}"#), attachments: [blob[...]]))
        let send = { bench.loop.enter { client.link?.send(message) } }
        #expect(try #require(send()) == .refused)
        let writables = client.writables
        if isChanged {
            bench.say("3probe")
            bench.answerPoll(with: "6")
        } else {
            bench.cut()
        }
        #expect(client.writables == writables + 1)
        guard case .rejected(let error)? = send() else { return #expect(isChanged) }
        #expect(error.code == .messageTooLarge && !isChanged)
    }

    @Test(arguments: [true, false])
    func `a WebSocket that is tried leaves neither timer nor stream when the session ends`(isLost: Bool) throws {
        let (bench, client) = try self.fallenBack()
        bench.loop.fireTimers()
        let webSocket = try #require(bench.stream)
        if isLost { bench.cut() }
        bench.refusePoll(status: 400)
        #expect(client.ends == [.connectionLost])
        #expect(bench.loop.pendingTimers == 0)
        #expect(webSocket.isAborted == !isLost)
    }

    @Test
    func `the WebSocket shows the cookies that came with the polls`() throws {
        let bench = EngineBench(carriers: .upgrade)
        _ = try bench.open("/a")
        let handshake = bench.handshake.replacing("[]", with: #"["websocket"]"#)
        bench.answerPoll(with: handshake, cookie: "server=2; Path=/")
        let webSocket = try #require(bench.loop.streams.first { $0.request.purpose == .upgrade })
        #expect(webSocket.request.headers.contains { $0.name == "Cookie" && $0.value == "server=2" })
    }

    @Test
    func `no connection is kept for further requests when the session has ended`() throws {
        let (bench, client) = try self.fallenBack()
        bench.send("e", by: client)
        let kept = try #require(bench.loop.kept)
        #expect(!kept.isClosed)
        bench.refusePoll(status: 400)
        #expect(kept.isClosed)
    }

    @Test
    func `a link that is closed while a WebSocket is tried beside its session gives that up`() throws {
        let (bench, client) = try self.fallenBack()
        bench.loop.fireTimers()
        let candidate = try #require(bench.loop.streams.last { $0.request.purpose == .upgrade })
        #expect(!candidate.isAborted)
        bench.end(client, politely: true)
        #expect(candidate.isAborted)
    }

    @Test
    func `polling goes on when the WebSocket that was about to take over is lost`() throws {
        let bench = EngineBench(carriers: .fallback)
        let client = try bench.open("/a")
        self.end(bench, by: .nonsense)
        bench.answer(1, with: bench.handshake.replacing("[]", with: #"["websocket"]"#))
        bench.answerPost()
        bench.loop.fireTimers()
        bench.say("3probe")
        bench.cut()
        let polls = bench.requests.filter { $0 == "GET" }.count
        bench.answerPoll(with: #"40/a,{"sid":"s"}"# + "\u{1E}6")
        #expect(bench.requests.filter { $0 == "GET" }.count == polls + 1)
        bench.answerPoll(with: #"42/a,["e"]"#)
        #expect(client.messages == ["e"])
    }

    @Test
    func `what waits is posted at once when the WebSocket that was about to take over is lost, and that gets nothing`()
        throws
    {
        let (bench, client) = try self.fallenBack()
        bench.loop.fireTimers()
        try #require(bench.requests.last == "an upgrade")
        bench.say("3probe")
        bench.send("question", by: client)
        bench.cut()
        #expect(bench.requests.last == #"POST 42/a,["question"]"#)
        // Nothing is under way for a moment.
        bench.loop.enter { client.link?.setReadingPaused(true) }
        bench.answerPost()
        bench.answerPoll(with: "6")
        bench.loop.enter { client.link?.setReadingPaused(false) }
        bench.answerPoll(with: #"42/a,["answer"]"#)
        #expect(client.messages == ["answer"])
    }

    @Test
    func `nothing is polled while the reader pauses`() throws {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        bench.answerPoll(with: bench.handshake)
        bench.answerPost()
        bench.answerPoll(with: #"40/a,{"sid":"s"}"#)
        let polls = bench.requests.filter { $0 == "GET" }.count
        bench.loop.enter { client.link?.setReadingPaused(true) }
        bench.answerPoll(with: "6")
        bench.send("question", by: client)
        bench.answerPost()
        #expect(bench.requests.filter { $0 == "GET" }.count == polls)
        bench.loop.enter { client.link?.setReadingPaused(false) }
        #expect(bench.requests.filter { $0 == "GET" }.count == polls + 1)
    }

    @Test
    func `a link that was given up meanwhile does not come back`() throws {
        let bench = EngineBench(carriers: .fallback)
        let clients = [try bench.open("/a"), try bench.open("/b")]
        bench.end(clients[0], politely: false)
        #expect(clients[0].ends == [.connectionLost])
        self.end(bench, by: .cut)
        try #require(bench.requests.count == 2)
        bench.answer(1, with: bench.handshake)
        #expect(bench.requests.last == "POST 40/b,")
        bench.end(clients[1], politely: false)
        #expect(clients[0].ends.count == 1)
    }

    @Test
    func `a session that was open once is lost with its WebSocket`() throws {
        let bench = EngineBench(carriers: .fallback)
        let client = try bench.open("/a")
        bench.say(bench.handshake)
        self.end(bench, by: .cut)
        #expect(client.ends == [.connectionLost])
        #expect(bench.requests == ["an upgrade"])
    }

    @Test
    func `without fallback the end of the WebSocket is the end of the attempt`() throws {
        let bench = EngineBench()
        let client = try bench.open("/a")
        self.end(bench, by: .cut)
        #expect(client.ends == [.connectionLost])
        #expect(bench.requests == ["an upgrade"])
    }
}
