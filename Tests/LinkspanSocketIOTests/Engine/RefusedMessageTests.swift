internal import Linkspan
internal import LinkspanWebSocketProtocol
internal import Testing

@testable import LinkspanSocketIO

@Suite("A message that the server refuses with its socket")
struct RefusedMessageTests {
    private static let carriers = [SocketIOCarriers.webSocket, .polling]

    /// A bench with open links to these namespaces, of which the server has nothing left to answer.
    private func opened(
        _ carriers: SocketIOCarriers, _ namespaces: [String]
    ) throws -> (bench: EngineBench, clients: [EngineBench.Client]) {
        let bench = EngineBench(carriers: carriers)
        let clients = try namespaces.map { try bench.open($0) }
        if carriers == .polling {
            bench.answerPoll(with: bench.handshake)
            bench.answerPost()
        }
        for namespace in namespaces { self.say(#"40\#(namespace),{"sid":"s"}"#, bench, carriers) }
        return (bench, clients)
    }

    private func say(_ text: String, _ bench: EngineBench, _ carriers: SocketIOCarriers) {
        carriers == .polling ? bench.answerPoll(with: text) : bench.say(text)
    }

    private func refuse(_ bench: EngineBench, _ carriers: SocketIOCarriers) {
        guard carriers == .polling else { return bench.say(.close, [0x03, 0xF1]) }
        bench.answerPost(status: 413)
        // What was queued behind it, and the end of the session.
        #expect(bench.requests.last?.hasSuffix("1") == true)
        bench.answerPost()
    }

    @Test(arguments: Self.carriers)
    func `is of the only link on the socket`(_ carriers: SocketIOCarriers) throws {
        let (bench, clients) = try self.opened(carriers, ["/a"])
        bench.send("poison", request: 0, by: clients[0])
        self.refuse(bench, carriers)
        #expect(clients.map(\.ends) == [[.messageRefused]])
    }

    @Test(arguments: Self.carriers, [0, 1])
    func `is of the only link that has sent since the namespaces were open`(
        _ carriers: SocketIOCarriers, culprit: Int
    ) throws {
        let (bench, clients) = try self.opened(carriers, ["/a", "/b"])
        bench.send("poison", request: 0, by: clients[culprit])
        self.refuse(bench, carriers)
        #expect(clients[culprit].ends == [.messageRefused])
        #expect(clients[1 - culprit].ends == [.connectionLost])
        _ = try bench.open("/a")
        let sockets = bench.loop.streams.count
        _ = try bench.open("/b")
        #expect(bench.loop.streams.count == sockets, "they share a socket again")
    }

    @Test(arguments: Self.carriers)
    func `may be of several links, and is of none then; each has a socket to itself for ten minutes`(
        _ carriers: SocketIOCarriers
    ) throws {
        let (bench, clients) = try self.opened(carriers, ["/a", "/b"])
        bench.send("innocent", request: 0, by: clients[0])
        bench.send("poison", request: 0, by: clients[1])
        self.refuse(bench, carriers)
        #expect(clients.map(\.ends) == [[.connectionLost], [.connectionLost]])
        for seconds in [0, 599, 2] {
            bench.loop.now += .seconds(seconds)
            let sockets = bench.loop.streams.count
            for namespace in ["/c\(seconds)", "/d\(seconds)"] { _ = try bench.open(namespace) }
            #expect(bench.loop.streams.count == sockets + (seconds == 2 ? 1 : 2))
        }
    }

    @Test(arguments: [true, false])
    func `is not of a link whose messages the server has proved to have read`(isAnswered: Bool) throws {
        let (bench, clients) = try self.opened(.webSocket, ["/a", "/b"])
        bench.send("innocent", by: clients[0])
        for request in [0, 1] as [UInt64] { bench.send("first", request: request, by: clients[1]) }
        if isAnswered { bench.say(#"43/b,0[]"#) }
        bench.send("poison", request: 2, by: clients[1])
        self.refuse(bench, .webSocket)
        #expect(clients[0].ends == [.connectionLost])
        #expect(clients[1].ends == [isAnswered ? .messageRefused : .connectionLost])
    }

    @Test
    func `is not of a link whose last request was answered, though it was behind all others`() throws {
        let (bench, clients) = try self.opened(.webSocket, ["/a", "/b"])
        bench.send("poison soon", request: 0, by: clients[0])
        bench.send("innocent", request: 0, by: clients[1])
        bench.say(#"43/b,0[]"#)
        bench.send("poison", request: 1, by: clients[0])
        self.refuse(bench, .webSocket)
        #expect(clients.map(\.ends) == [[.messageRefused], [.connectionLost]])
    }

    @Test
    func `is of a link that has sent behind another one's answered request`() throws {
        let (bench, clients) = try self.opened(.webSocket, ["/a", "/b"])
        bench.send("innocent", request: 0, by: clients[0])
        bench.send("poison", by: clients[1])
        bench.say(#"43/a,0[]"#)
        self.refuse(bench, .webSocket)
        #expect(clients.map(\.ends) == [[.connectionLost], [.messageRefused]])
    }

    @Test
    func `is of a link that has sent again after the answer to its last request`() throws {
        let (bench, clients) = try self.opened(.webSocket, ["/a", "/b"])
        bench.send("innocent", request: 0, by: clients[0])
        bench.say(#"43/a,0[]"#)
        bench.send("poison", by: clients[0])
        self.refuse(bench, .webSocket)
        #expect(clients.map(\.ends) == [[.messageRefused], [.connectionLost]])
    }

    @Test
    func `may be the answer to a question of the server's`() throws {
        let (bench, clients) = try self.opened(.webSocket, ["/a", "/b"])
        bench.say(#"42/a,5["question"]"#)
        _ = bench.loop.enter { clients[0].link?.reply(to: 5, with: .empty) }
        self.refuse(bench, .webSocket)
        #expect(clients.map(\.ends) == [[.messageRefused], [.connectionLost]])
    }

    @Test
    func `is not of a link that was cleared before an older request of another was answered`() throws {
        let (bench, clients) = try self.opened(.webSocket, ["/a", "/b"])
        bench.send("innocent", request: 0, by: clients[0])
        bench.send("innocent", request: 0, by: clients[1])
        bench.say(#"43/b,0[]"#, #"43/a,0[]"#)
        bench.send("poison", by: clients[0])
        self.refuse(bench, .webSocket)
        #expect(clients.map(\.ends) == [[.messageRefused], [.connectionLost]])
    }

    @Test
    func `is not of a link all of whose POSTs were answered`() throws {
        let (bench, clients) = try self.opened(.polling, ["/a", "/b"])
        bench.send("innocent", by: clients[0])
        bench.answerPost()
        bench.send("poison", request: 0, by: clients[1])
        self.refuse(bench, .polling)
        #expect(clients.map(\.ends) == [[.connectionLost], [.messageRefused]])
    }

    @Test
    func `may be of a link that the answer to a request's former sending does not clear`() throws {
        let (bench, clients) = try self.opened(.webSocket, ["/a", "/b", "/c"])
        bench.send("innocent", request: 0, by: clients[0])
        bench.send("poison", by: clients[1])
        bench.send("innocent", request: 0, by: clients[0])
        bench.say(#"43/a,0[]"#)
        bench.send("innocent", by: clients[2])
        self.refuse(bench, .webSocket)
        #expect(clients.map(\.ends) == [[.connectionLost], [.connectionLost], [.connectionLost]])
    }

    @Test(arguments: Self.carriers)
    func `may be of a link that has left`(_ carriers: SocketIOCarriers) throws {
        let (bench, clients) = try self.opened(carriers, ["/a", "/b"])
        bench.send("poison", by: clients[0])
        bench.end(clients[0], politely: true)
        bench.send("innocent", request: 0, by: clients[1])
        self.refuse(bench, carriers)
        #expect(clients[1].ends == [.connectionLost])
    }

    @Test
    func `may be of a link that has left without an answer to its last ping`() throws {
        let (bench, clients) = try self.opened(.webSocket, ["/a", "/b"])
        bench.send("poison", by: clients[0])
        bench.end(clients[0], politely: true)
        bench.loop.fireTimers(within: .milliseconds(500))
        bench.send("innocent", request: 0, by: clients[1])
        self.refuse(bench, .webSocket)
        #expect(clients[1].ends == [.connectionLost])
    }

    @Test(arguments: [false, true])
    func `may be a large POST that ends the session of a server that announces no limit`(pollEndsFirst: Bool) throws {
        for (size, end) in [
            (PollingSession.suspiciousBytes, LinkspanError.Code.messageRefused), (1_000, .connectionLost),
        ] {
            let (bench, clients) = try self.opened(.polling, ["/a"])
            bench.send(String(repeating: "x", count: size), request: 0, by: clients[0])
            if pollEndsFirst { bench.refusePoll(status: 400) } else { bench.answerPost(status: 400) }
            #expect(clients[0].ends == [end])
        }
    }

    @Test
    func `is not a large POST to a server that announces its limit`() throws {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        bench.answerPoll(with: bench.handshake.replacing("}", with: #","maxPayload":1000000}"#))
        bench.answerPost()
        bench.answerPoll(with: #"40/a,{"sid":"s"}"#)
        bench.send(String(repeating: "x", count: 100_000), request: 0, by: client)
        bench.answerPost(status: 400)
        #expect(client.ends == [.connectionLost])
    }

    @Test
    func `may be the CONNECT of another namespace`() throws {
        let (bench, clients) = try self.opened(.webSocket, ["/a"])
        bench.send("innocent", request: 0, by: clients[0])
        let large = try bench.open("/large")
        self.refuse(bench, .webSocket)
        #expect((clients + [large]).map(\.ends) == [[.connectionLost], [.connectionLost]])
    }

    @Test(arguments: [[2_000, 10], [10, 2_000], [10, 999]])
    func `is not even sent when one of its attachments is larger than the server announced`(sizes: [Int]) throws {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        bench.answerPoll(with: bench.handshake.replacing("}", with: #","maxPayload":1400}"#))
        bench.answerPost()
        bench.answerPoll(with: #"40/a,{"sid":"s"}"#)
        let payload = Payload(
            trustedElements: bytes(#"{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}"#),
            attachments: sizes.map { [UInt8](repeating: 0, count: $0)[...] })
        let message = OutboundMessage(event: "e", payload: payload)
        let acceptance = try #require(bench.loop.enter { client.link?.send(message) })
        guard case .rejected(let error) = acceptance else {
            #expect(acceptance == .accepted && !sizes.contains(2_000))
            return
        }
        #expect(error.code == .messageTooLarge && sizes.contains(2_000))
    }
}

@Suite("Turns in which links send")
struct SendTurnsTests {
    /// Turns, and one of each link, in which it has sent these requests; nil stands for another message.
    private static func sent(_ messages: [UInt64?]...) -> (SendTurns, [SendTurns.Turn]) {
        var turns = SendTurns()
        let links = messages.map { messages in
            var turn = turns.begin()
            for request in messages { turn.note(request: request) }
            return turn
        }
        return (turns, links)
    }

    @Test
    func `a message behind the answered request may be refused`() {
        for (last, isOpen) in [(nil, true), (1, true), (0, false)] as [(UInt64?, Bool)] {
            var (turns, links) = Self.sent(last == 0 ? [0] : [0, last])
            turns.answered(0, in: links[0])
            #expect(turns.isOpen(links[0]) == isOpen)
        }
    }

    @Test
    func `a late answer opens no turn again`() {
        var (turns, links) = Self.sent([0, 1], [0], [nil])
        turns.answered(0, in: links[1])
        turns.answered(0, in: links[0])
        #expect(turns.refused(among: links) == 2)
    }

    @Test
    func `a link that has left may be the sender until the server has read all of its turn`() {
        var (turns, links) = Self.sent([0, 1], [nil])
        turns.answered(0, in: links[0])
        turns.left(links[0])
        #expect(turns.refused(among: [nil, links[1]]) == nil)
        turns.accepted(links[0])
        #expect(turns.refused(among: [nil, links[1]]) == 1)
    }

    @Test
    func `of links that have left the latest turn counts, whichever left first`() {
        for order in [[0, 1], [1, 0]] {
            var (turns, links) = Self.sent([nil], [nil], [nil])
            for index in order { turns.left(links[index]) }
            turns.accepted(links[0])
            #expect(turns.refused(among: [nil, nil, links[2]]) == nil)
        }
    }
}
