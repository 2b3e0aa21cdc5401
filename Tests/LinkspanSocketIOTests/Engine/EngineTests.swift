internal import Linkspan
internal import LinkspanWebSocketProtocol
internal import Testing

@testable import LinkspanSocketIO

@Suite("Links that share an engine")
struct EngineTests {
    @Test(arguments: [true, false])
    func `a namespace that is given up resumes from its last message, whether it is the last on its socket or not`(
        isLast: Bool
    ) throws {
        let bench = EngineBench()
        let client = try bench.opened("/a", offsets: "O1", "O2")
        if !isLast { _ = try bench.opened("/b") }
        bench.end(client, politely: false)
        #expect(client.ends == [.connectionLost])
        #expect(bench.resumption(of: client) == #""P","O2""#)
    }

    @Test
    func `of two links that wait for the same namespace, the later one gets a session of its own`() throws {
        let bench = EngineBench(carriers: .polling)
        for namespace in ["/a", "/b", "/a"] { _ = try bench.open(namespace) }
        #expect(bench.requests == ["GET", "GET"])
    }

    @Test
    func `links whose auth is no object end when the session is there, and the session with them`() throws {
        let bench = EngineBench(carriers: .polling)
        let clients = try ["/a", "/b"].map { try bench.open($0, auth: Payload([1])) }
        bench.answer(0, with: bench.handshake)
        #expect(clients.map(\.ends) == [[.invalidConfiguration], [.invalidConfiguration]])
        #expect(bench.requests == ["GET", "POST 1"])
    }

    @Test
    func `a namespace that is left on purpose resumes nothing`() throws {
        let bench = EngineBench()
        let client = try bench.opened("/a", offsets: "O1")
        _ = try bench.opened("/b")
        bench.end(client, politely: true)
        #expect(client.ends == [.connectionLost])
        #expect(bench.resumption(of: client) == nil)
    }

    @Test
    func `a link that is left before it is in its namespace resumes nothing of the former one`() throws {
        let bench = EngineBench()
        _ = try bench.opened("/b")
        let client = try bench.open("/a", resuming: #""P","O""#)
        #expect(bench.resumption(of: client) == #""P","O""#)
        bench.end(client, politely: true)
        #expect(bench.resumption(of: client) == nil)
    }

    @Test
    func `a link that was ended before it could begin opens nothing`() throws {
        let (loop, client) = (BenchLoop(), EngineBench.Client())
        let transport = SocketIOTransport(SocketIOConfiguration(), loop: loop)
        let link = transport.makeLink(LinkRequest(url: try ConnectionURL("http://server/")), receiver: client)
        loop.enter {
            link.abort()
            link.open()
        }
        #expect(client.ends == [.connectionLost])
        #expect(loop.streams.isEmpty)
    }

    @Test
    func `the time to the answer of a ping is told`() throws {
        let bench = EngineBench(.v2)
        let client = try bench.open("/")
        bench.say("40")
        bench.loop.now += .seconds(1)
        bench.loop.fireTimers()
        #expect(bench.said.last == "2")
        bench.loop.now += .milliseconds(100)
        bench.say("3")
        #expect(client.info.roundTrip == .milliseconds(100))
    }

    @Test
    func `the end of an engine does not take another one from the links to come`() throws {
        let bench = EngineBench()
        let clients = [try bench.opened("/a"), try bench.opened("/a")]
        let sockets = bench.loop.streams.count
        #expect(sockets == 2)
        bench.end(clients[0], politely: false)
        _ = try bench.open("/b")
        #expect(bench.loop.streams.count == sockets)
    }

    @Test
    func `an end that was put off is told once`() throws {
        let link = try #require(try EngineBench().open("/a").link as? SocketIOLink)
        var links = EngineLinks()
        links.leave(link, .closed(LinkspanError(.connectionLost, "closed by this side")))
        #expect((0..<2).map { _ in links.takeLeaving().count } == [1, 0])
    }

    /// The part of a replay that has come.
    enum Replay: CaseIterable { case nothing, frameInPart, packetInPart, event }

    @Test(arguments: Replay.allCases, [true, false])
    func `a replay in the midst of which the link is given up is not asked for again`(
        replay: Replay, isLast: Bool
    ) throws {
        let bench = EngineBench()
        if !isLast { _ = try bench.opened("/b") }
        let client = try bench.open("/a", resuming: #""P","O""#)
        switch replay {
        case .nothing: ()
        case .frameInPart: bench.say(bytes: [0x81, 100] + Array(#"42/a,["e","#.utf8))
        case .packetInPart: bench.say(#"451-/a,["e",{"_placeholder":true,"num":0}]"#)
        case .event: bench.say(#"42/a,["e","O1"]"#)
        }
        bench.end(client, politely: false)
        #expect(client.ends == [.connectionLost])
        #expect(bench.resumption(of: client) == (replay == .nothing ? #""P","O""# : nil))
    }

    @Test
    func `a replay of which a frame has come in part at the deadline of CONNECT is not asked for again`() throws {
        let bench = EngineBench()
        _ = try bench.opened("/b")
        let client = try bench.open("/a", resuming: #""P","O""#)
        for _ in 0..<11 {
            bench.loop.now += .seconds(1)
            bench.say("2")
        }
        bench.say(bytes: [0x81, 100] + Array(#"42/a,["e","#.utf8))
        bench.loop.fireTimers()
        #expect(client.ends == [.timedOut])
        #expect(bench.resumption(of: client) == nil)
    }

    @Test(arguments: [true, false])
    func `a pause that outlives the heartbeat is the reason for all that share the socket`(isPaused: Bool) throws {
        let bench = EngineBench()
        let clients = [try bench.opened("/a"), try bench.opened("/b")]
        bench.loop.enter { clients[0].link?.setReadingPaused(isPaused) }
        bench.loop.now += .seconds(10)
        for _ in 0..<2 { bench.loop.fireTimers() }
        for client in clients { #expect(client.ends == [isPaused ? .slowConsumer : .heartbeatMissed]) }
    }

    @Test(arguments: ["41/a,", #"44/a,{"message":"no"}"#])
    func `a pause ends with its namespace, however the server ends that`(end: String) throws {
        let bench = EngineBench()
        let clients = [try bench.opened("/a"), try bench.opened("/b")]
        clients[0].onMessage = { $0.link?.setReadingPaused(true) }
        bench.sayAtOnce(#"42/a,["e"]"#, #"42/b,["e"]"#, end)
        #expect(clients[0].ends.count == 1)
        #expect(bench.stream?.pauses == [true, false])
        bench.say(#"42/b,["later"]"#)
        #expect(clients[1].messages == ["e", "later"])
        // Nor is the pause taken for the reason of what happens to the others afterwards.
        bench.loop.now += .seconds(10)
        for _ in 0..<2 { bench.loop.fireTimers() }
        #expect(clients[1].ends == [.heartbeatMissed])
    }

    @Test(arguments: [true, false])
    func `a namespace that joins while another one pauses reading gets a socket of its own`(isPaused: Bool) throws {
        let bench = EngineBench()
        let former = try bench.opened("/a")
        bench.loop.enter { former.link?.setReadingPaused(true) }
        if !isPaused { bench.loop.enter { former.link?.setReadingPaused(false) } }
        let next = try bench.opened("/b", offsets: "O1")
        #expect(bench.loop.streams.count == (isPaused ? 2 : 1))
        #expect(next.messages == ["e"])
        #expect(former.ends.isEmpty)
    }

    @Test
    func `the end of a paused namespace leaves the pause of another as it is`() throws {
        let bench = EngineBench()
        let clients = [try bench.opened("/a"), try bench.opened("/b")]
        for client in clients { client.onMessage = { $0.link?.setReadingPaused(true) } }
        bench.sayAtOnce(#"42/a,["e"]"#, #"42/b,["e"]"#, "41/a,")
        #expect(clients[0].ends.count == 1)
        #expect(bench.stream?.pauses.last == true)
        bench.loop.enter { clients[1].link?.setReadingPaused(false) }
        #expect(bench.stream?.pauses.last == false)
    }

    @Test
    func `giving up the last link lets another one that has left send its last words`() throws {
        let bench = EngineBench()
        let (leaving, hopeless) = (try bench.opened("/a"), try bench.open("/b"))
        bench.stream?.pendingBytes = 100
        bench.end(leaving, politely: true)
        bench.end(hopeless, politely: false)
        #expect(hopeless.ends == [.connectionLost])
        #expect(leaving.ends.isEmpty)
        #expect(bench.stream?.isAborted == false)
        // The server does not answer the Close frame.
        bench.loop.fireTimers()
        #expect(leaving.ends.count == 1)
    }

    @Test
    func `messages that are refused while the heartbeat is overdue do not end the last look at what has arrived`()
        throws
    {
        let bench = EngineBench()
        let client = try bench.opened("/a")
        let link = try #require(client.link)
        let message = OutboundMessage(event: "say", payload: .empty)
        // The shortest patience that is believed is 2 s.
        bench.loop.now += .milliseconds(2_001)
        bench.loop.enter {
            for _ in 0..<2 { #expect(link.send(message) == .refused) }
        }
        #expect(bench.loop.enter { link.send(message) } == .refused)
        #expect(client.ends.isEmpty)
        bench.say("2")
        #expect(bench.loop.enter { link.send(message) } == .accepted)
        bench.loop.fireTimers()
        #expect(client.ends.isEmpty)
    }

    /// As after a listener that took longer than the heartbeat allows, while a message of the server waited to be read.
    @Test
    func `a message that waited while the time to ping was missed proves that the server lives`() throws {
        let bench = EngineBench(.v2)
        let client = try bench.open("/")
        bench.say("40")
        bench.loop.now += .milliseconds(2_001)
        bench.loop.fireTimers()
        bench.say(#"42["e"]"#)
        bench.loop.fireTimers()
        #expect(client.messages == ["e"])
        #expect(client.ends.isEmpty)
        // The ping that follows has the usual time for its answer.
        bench.loop.now += .milliseconds(1_001)
        for _ in 0..<2 { bench.loop.fireTimers() }
        #expect(client.ends == [.heartbeatMissed])
    }

    @Test
    func `a binary frame without its type is a violation of the protocol`() throws {
        let bench = EngineBench(.v2)
        let client = try bench.open("/")
        bench.say("40")
        bench.say(.binary, [7, 1, 2])
        #expect(client.ends == [.protocolViolation])
    }

    @Test
    func `a namespace that is given up while another one pauses reading resumes what it was to resume`() throws {
        let bench = EngineBench()
        let other = try bench.opened("/b")
        let client = try bench.open("/a", resuming: #""P","O""#)
        bench.loop.enter { other.link?.setReadingPaused(true) }
        bench.end(client, politely: false)
        #expect(bench.resumption(of: client) == #""P","O""#)
    }

    @Test
    func `a pause is no reason for an end that has another one`() throws {
        let bench = EngineBench()
        let clients = [try bench.opened("/a"), try bench.opened("/b")]
        bench.loop.enter { clients[0].link?.setReadingPaused(true) }
        bench.cut()
        #expect(clients.map(\.ends) == [[.connectionLost], [.connectionLost]])
    }

    @Test(arguments: [true, false])
    func `a link that leaves ends its pause`(politely: Bool) throws {
        let bench = EngineBench()
        let clients = [try bench.opened("/a"), try bench.opened("/b")]
        bench.loop.enter { clients[0].link?.setReadingPaused(true) }
        bench.end(clients[0], politely: politely)
        bench.say(#"42/b,["e"]"#)
        #expect(clients[1].messages == ["e"])
    }

    @Test
    func `nothing is sent any more once the session ends over a violation`() throws {
        let bench = EngineBench()
        let clients = [try bench.opened("/a"), try bench.opened("/b")]
        var refusals: [Bool] = []
        for (one, other) in [(0, 1), (1, 0)] {
            clients[one].onEnd = {
                let message = OutboundMessage(event: "late", payload: .empty)
                refusals.append(clients[other].link.map { $0.send(message) == .refused } == true)
            }
        }
        bench.say("x")
        #expect(clients.map(\.ends) == [[.protocolViolation], [.protocolViolation]])
        #expect(refusals == [true, true])
    }

    @Test
    func `a link that gives up before its socket is there leaves that to the others`() throws {
        let bench = EngineBench()
        bench.loop.upgrades = false
        let clients = [try bench.open("/a"), try bench.open("/b")]
        bench.end(clients[0], politely: false)
        #expect(clients.map(\.ends) == [[.connectionLost], []])
        #expect(bench.stream?.isAborted == false)
        bench.end(clients[1], politely: false)
        #expect(bench.stream?.isAborted == true)
    }

    @Test(arguments: [SocketIOCarriers.webSocket, .polling])
    func `nothing keeps an engine whose session has ended`(carriers: SocketIOCarriers) throws {
        let bench = EngineBench(carriers: carriers)
        let client = try bench.open("/a")
        if carriers == .polling {
            bench.answerPoll(with: bench.handshake)
            bench.answerPost()
            bench.answerPoll(with: #"40/a,{"sid":"s"}"#)
        } else {
            bench.say(#"40/a,{"sid":"s"}"#)
        }
        weak let engine = bench.engine(of: client)
        #expect(engine != nil)
        if carriers == .polling { bench.refusePoll(status: 400) } else { bench.cut() }
        #expect(client.ends == [.connectionLost])
        bench.drop(client)
        bench.loop.fireTimers()
        #expect(engine == nil)
    }

    // MARK: Time

    @Test
    func `a client sends while it handles a message, however long that takes`() throws {
        let bench = EngineBench()
        let client = try bench.opened("/a")
        var isAccepted = false
        client.onMessage = { client in
            bench.loop.now += .seconds(3)
            let message = OutboundMessage(event: "say", payload: .empty)
            isAccepted = client.link.map { $0.send(message) == .accepted } ?? false
        }
        bench.say(#"42/a,["e"]"#)
        #expect(isAccepted)
    }

    @Test
    func `the last look begins in the moment in which the heartbeat is overdue, and nothing cuts it short`() throws {
        let bench = EngineBench()
        let client = try bench.opened("/a")
        bench.loop.now += .seconds(2)
        bench.loop.fireTimers()
        #expect(client.ends.isEmpty)
        let timers = bench.loop.timerCount
        bench.say(#"42/a,["e"]"#, "2")
        #expect(bench.loop.timerCount == timers, "the look is not cut short")
        // As if handling the message had taken that long.
        bench.loop.now += .seconds(3)
        bench.loop.fireTimers()
        #expect(client.ends.isEmpty)
        bench.loop.now += .seconds(2)
        for _ in 0..<2 { bench.loop.fireTimers() }
        #expect(client.ends == [.heartbeatMissed])
    }

    @Test(arguments: [true, false])
    func `a client whose message was refused because of the heartbeat hears when it may send`(isLate: Bool) throws {
        let bench = EngineBench()
        let client = try bench.opened("/a")
        let link = try #require(client.link)
        let message = OutboundMessage(event: "say", payload: .empty)
        bench.loop.now += .seconds(2)
        bench.loop.enter {
            #expect(link.send(message) == .refused)
            if !isLate { bench.say("2") }
        }
        if isLate {
            #expect(client.writables == 0)
            bench.say("2")
            bench.loop.fireTimers()
        }
        #expect(client.writables == 1)
        #expect(bench.loop.enter { link.send(message) } == .accepted)
    }

    @Test
    func `the timer is put off when it would fire more than a second early`() throws {
        let bench = EngineBench()
        _ = try bench.opened("/a")
        let timers = bench.loop.timerCount
        for (milliseconds, count) in [(1_000, 0), (1, 1), (1_000, 1), (1, 2)] {
            bench.loop.now += .milliseconds(milliseconds)
            bench.say("2")
            #expect(bench.loop.timerCount == timers + count)
        }
    }
}
