internal import Linkspan
internal import LinkspanWebSocketProtocol
internal import TestSupport
internal import Testing

@testable import LinkspanSocketIO

@Suite("Namespaces that come and go on one socket")
struct NamespaceChurnTests {
    private struct Reference {
        weak var client: EngineBench.Client?
    }

    /// The ways in which a namespace ends.
    enum End: CaseIterable {
        case server
        case close
        case abort
    }

    @Test(arguments: End.allCases)
    func `a socket keeps nothing of the namespaces that have left it`(_ end: End) throws {
        let bench = EngineBench()
        let keep = try bench.opened("/keep")
        var former: [Reference] = []
        for number in 0..<1_000 {
            let client = try bench.opened("/n\(number)")
            // The first place is that of the namespace that stays.
            #expect(bench.index(of: client) == 1)
            switch end {
            case .server: bench.say("41/n\(number),")
            case .close: bench.end(client, politely: true)
            case .abort: bench.end(client, politely: false)
            }
            #expect(client.ends.count == 1)
            bench.drop(client)
            former.append(Reference(client: client))
        }
        #expect(former.allSatisfy { $0.client == nil })
        bench.say(#"42/keep,["e"]"#)
        #expect(keep.messages == ["e"])
        #expect(bench.loop.streams.count == 1)
    }

    @Test
    func `late events of a namespace that has left are not delivered to the one in its place`() throws {
        let bench = EngineBench()
        _ = try bench.opened("/keep")
        let former = try bench.opened("/former", offsets: "O1")
        bench.end(former, politely: true)
        let next = try bench.opened("/next")
        #expect(bench.index(of: next) == 1)
        bench.say(#"42/former,["e","O2"]"#)
        #expect(next.messages.isEmpty)
        bench.say(#"42/next,["e","O3"]"#)
        #expect(next.messages == ["e"])
    }

    @Test
    func `a late acknowledgement for a link that has left settles no request of the next link in its namespace`() throws
    {
        let bench = EngineBench(carriers: .polling)
        _ = try bench.open("/feed")
        bench.answerPoll(with: bench.handshake)
        bench.answerPost()
        let former = try bench.open("/chat")
        bench.answerPost()
        bench.answerPoll(with: "40/feed,{\"sid\":\"s\"}\u{1E}40/chat,{\"sid\":\"s\"}")
        bench.send("slow", request: 0, by: former)
        #expect(bench.requests.last == #"POST 42/chat,0["slow"]"#)
        bench.answerPost()
        bench.end(former, politely: true)
        bench.answerPost()
        let next = try bench.open("/chat")
        bench.answerPost()
        bench.answerPoll(with: #"40/chat,{"sid":"t"}"#)
        bench.send("order", request: 0, by: next)
        #expect(bench.requests.last == #"POST 42/chat,1["order"]"#)
        bench.answerPoll(with: #"43/chat,0["slow result"]"#)
        #expect(next.replies.isEmpty)
        bench.answerPoll(with: #"43/chat,1["ordered"]"#)
        #expect(next.replies == [0])
    }

    @Test
    func `a late acknowledgement is known as such although another name has had the place meanwhile`() throws {
        let bench = EngineBench()
        _ = try bench.opened("/keep")
        let former = try bench.opened("/chat")
        bench.send("slow", request: 0, by: former)
        bench.end(former, politely: true)
        bench.say(.pong, [])
        _ = try bench.opened("/other")
        let next = try bench.opened("/chat")
        bench.send("order", request: 0, by: next)
        bench.say(#"43/chat,0["slow result"]"#)
        #expect(next.replies.isEmpty)
        bench.say(#"43/chat,1["ordered"]"#)
        #expect(next.replies == [0])
    }

    @Test
    func `a namespace keeps its place while the answer to its CONNECT is awaited`() throws {
        let bench = EngineBench()
        _ = try bench.opened("/keep")
        let hasty = try bench.open("/hasty")
        bench.end(hasty, politely: false)
        #expect(hasty.ends == [.connectionLost])
        let next = try bench.opened("/next")
        #expect(bench.index(of: next) == 2)
        bench.say(#"40/hasty,{"sid":"s"}"#)
        let third = try bench.opened("/third")
        #expect(bench.index(of: third) == 1)
    }
}

@Suite("The namespaces of a session")
struct NamespaceTableTests {
    @Test
    func `a packet finds its namespace in the same time however many there are`() throws {
        for size in [10, 1_000] {
            var session = SocketIOSession.opened()
            for number in 0..<size {
                _ = try session.enter("/n\(number)")
                _ = session.take("40/n\(number),{\"sid\":\"s\"}")
            }
            var heard: [Int] = []
            let steps = countSteps {
                for number in [0, size - 1, size / 2] {
                    for case .message(let index, _, _) in session.take("42/n\(number),[\"e\"]").happenings {
                        heard.append(index)
                    }
                }
                heard += session.take("42/unknown,[\"e\"]").happenings.isEmpty ? [] : [-1]
            }
            #expect(heard == [0, size - 1, size / 2])
            #expect(steps <= 4, "one look for each packet")
        }
    }

    @Test
    func `a request that is sent once more keeps its number, and takes none from the next link`() {
        var numbers = AckNumbers(first: 5)
        #expect(numbers.isNew(0))
        #expect([0, 1, 2, 0].map { numbers.number(of: $0) } == [5, 6, 7, 5])
        #expect(numbers.next == 8)
        #expect([2, 3].map { numbers.isNew($0) } == [false, true])
    }

    @Test(arguments: [3, 20])
    func `the name that had an index before is not found any more`(size: Int) throws {
        var session = SocketIOSession.opened()
        for number in 0..<size {
            _ = try session.enter("/n\(number)")
            _ = session.take("40/n\(number),{\"sid\":\"s\"}")
        }
        _ = session.take("41/n1,")
        session.release(1, nextAck: 0)
        #expect(try session.enter("/next").index == 1)
        _ = session.take("40/next,{\"sid\":\"s\"}")
        #expect(session.take("42/n1,[\"e\"]").happenings.isEmpty)
        #expect(session.take("42/next,[\"e\"]").happenings == [.message(1, "e", "")])
        #expect(session.take("42/n2,[\"e\"]").happenings == [.message(2, "e", "")])
    }

    @Test
    func `an index goes to the next name when its owner has been told of the end, and not before`() throws {
        var session = SocketIOSession.opened()
        _ = try session.enter("/a")
        session.release(0, nextAck: 0)
        #expect(try session.enter("/b").index == 1, "the namespace is in use")
        _ = session.take("41/a,")
        #expect(try session.enter("/c").index == 2, "nobody has been told")
        session.release(0, nextAck: 0)
        #expect(try session.enter("/d").index == 0)
        session.release(7, nextAck: 0)
        #expect(try session.enter("/e").index == 3)
    }

    @Test
    func `a namespace resumes its session although another has got its index`() throws {
        var session = SocketIOSession.opened()
        _ = try session.enter("/a")
        _ = session.take(#"40/a,{"sid":"s","pid":"P"}"#)
        _ = session.take(#"42/a,["e","O"]"#)
        var output = SocketIOOutput()
        session.leave(0, reason: LinkspanError(.connectionLost, "given up"), politely: false, output: &output)
        let recovery = try #require(session.recovery(of: 0))
        session.release(0, nextAck: 0)
        #expect(try session.enter("/b").index == 0)
        #expect(session.recovery(of: 0) == nil)
        let again = try session.enter("/a", recovery: recovery)
        #expect(again.index == 1)
        #expect(again.written == [#"40/a,{"pid":"P","offset":"O"}"#])
        #expect(session.take(#"40/a,{"sid":"t","pid":"P"}"#).happenings == [.opened(1, sid: "t", isContinuous: true)])
    }

    @Test
    func `the number of active namespaces and the next deadline follow every change`() throws {
        var session = SocketIOSession.opened()
        for (number, name) in ["/a", "/b", "/c"].enumerated() { _ = try session.enter(name, at: Double(number)) }
        #expect(session.activeNamespaces == 3)
        #expect(session.nextDeadline == at(10))
        _ = session.take(#"40/a,{"sid":"s"}"#)
        #expect(session.activeNamespaces == 3)
        #expect(session.nextDeadline == at(11))
        _ = session.take("44/b")
        #expect(session.activeNamespaces == 2)
        #expect(session.nextDeadline == at(12))
        #expect(session.tick(at: 12).happenings == [.closed(2, .timedOut)])
        #expect(session.activeNamespaces == 1)
        #expect(session.nextDeadline == at(45), "that of the heartbeat")
        _ = session.take("41/a,")
        #expect(session.activeNamespaces == 0)
    }

    @Test
    func `a namespace that too many early events end is not active any more`() throws {
        let limits = SocketIOLimits(maximumEarlyEvents: 1)
        var session = SocketIOSession.opened(limits: limits)
        _ = try session.enter("/a")
        for _ in 0..<2 { _ = session.take(#"42/a,["e"]"#) }
        #expect(session.activeNamespaces == 0)
        #expect(session.nextDeadline == at(45))
    }
}
