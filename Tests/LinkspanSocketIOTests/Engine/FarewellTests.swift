internal import Linkspan
internal import LinkspanWebSocketProtocol
internal import Testing

@testable import LinkspanSocketIO

/// The official server handles an event in its next tick, and drops it when DISCONNECT was in the same read.
@Suite("A link that leaves after it has sent")
struct FarewellTests {
    private static let event = #"42/a,["last"]"#

    /// A bench over a WebSocket whose client has sent its last event.
    private func sent(request: UInt64? = nil) throws -> (bench: EngineBench, client: EngineBench.Client) {
        let bench = EngineBench()
        let client = try bench.opened("/a")
        bench.send("last", request: request, by: client)
        return (bench, client)
    }

    @Test(arguments: [true, false])
    func `sends DISCONNECT when the server has read its last event, or answers no ping`(isAnswered: Bool) throws {
        let (bench, client) = try self.sent()
        bench.end(client, politely: true)
        #expect(bench.said.last == Self.event)
        #expect(client.ends.isEmpty)
        #expect(bench.pings == 1)
        if isAnswered { bench.say(.pong, []) } else { bench.loop.fireTimers(within: .milliseconds(500)) }
        #expect(bench.said.suffix(2) == [Self.event, "41/a,"])
        #expect(bench.pings == 1)
        bench.cut()
        #expect(client.ends == [.connectionLost])
    }

    @Test
    func `waits until the system has its last event`() throws {
        let (bench, client) = try self.sent()
        bench.stream?.pendingBytes = 1
        bench.end(client, politely: true)
        for _ in 0..<3 { bench.loop.fireTimers(within: .milliseconds(50)) }
        #expect(bench.said.last == Self.event)
        bench.stream?.pendingBytes = 0
        bench.loop.fireTimers(within: .milliseconds(50))
        bench.say(.pong, [])
        #expect(bench.said.last == "41/a,")
    }

    @Test
    func `waits five seconds for a system that does not take its last event`() throws {
        let (bench, client) = try self.sent()
        bench.stream?.pendingBytes = 1
        bench.end(client, politely: true)
        for (wait, pings) in [(4, 0), (1, 1)] {
            bench.loop.now += .seconds(wait)
            bench.loop.fireTimers(within: .milliseconds(50))
            #expect(bench.pings == pings)
        }
    }

    @Test
    func `sends DISCONNECT at once when the server has answered its last message, or it has sent none`() throws {
        let (bench, client) = try self.sent(request: 0)
        bench.say("43/a,0[]")
        let other = try bench.open("/b")
        bench.say(#"40/b,{"sid":"s"}"#)
        for client in [client, other] { bench.end(client, politely: true) }
        #expect(bench.said.suffix(2) == ["41/a,", "41/b,"])
        bench.cut()
        #expect([client, other].map(\.ends) == [[.connectionLost], [.connectionLost]])
    }

    @Test
    func `of version 3 waits for the server, which let it into the main namespace without reading anything of it`()
        throws
    {
        let bench = EngineBench(.v2)
        let client = try bench.open("/")
        bench.say("40")
        bench.end(client, politely: true)
        #expect(!bench.said.contains("41"))
        bench.say(.pong, [])
        #expect(bench.said.contains("41"))
    }

    @Test(arguments: [SocketIOCarriers.polling, .upgrade])
    func `over polling has DISCONNECT in a POST of its own, when that of the event is answered`(
        _ carriers: SocketIOCarriers
    ) throws {
        let bench = EngineBench(carriers: carriers)
        let client = try bench.open("/a")
        bench.answerPoll(with: bench.handshake)
        bench.answerPost()
        bench.answerPoll(with: #"40/a,{"sid":"s"}"#)
        bench.send("last", by: client)
        bench.end(client, politely: true)
        bench.loop.fireTimers(within: .milliseconds(50))
        #expect(bench.requests.last == "POST \(Self.event)")
        bench.answerPost()
        bench.loop.fireTimers(within: .milliseconds(50))
        #expect(bench.requests.last == "POST 41/a,")
        for _ in 0..<2 { bench.answerPost() }
        #expect(bench.requests.last == "POST 1")
        #expect(client.ends == [.connectionLost])
    }

    @Test
    func `ends at once when it is aborted meanwhile, and once`() throws {
        let (bench, client) = try self.sent()
        for politely in [true, false] { bench.end(client, politely: politely) }
        #expect(client.ends == [.connectionLost])
        #expect(bench.stream?.isAborted == true)
        bench.loop.fireTimers()
        #expect(client.ends.count == 1)
    }

    @Test
    func `ends at once when it is aborted before its goodbye is sent, and leaves the socket to others`() throws {
        let bench = EngineBench()
        let clients = [try bench.opened("/a"), try bench.opened("/b")]
        bench.stream?.pendingBytes = 100
        bench.end(clients[0], politely: true)
        #expect(clients[0].ends.isEmpty)
        bench.end(clients[0], politely: false)
        #expect(clients.map(\.ends) == [[.connectionLost], []])
        #expect(bench.stream?.isAborted == false)
    }

    @Test
    func `ends once when its socket ends meanwhile`() throws {
        let (bench, client) = try self.sent()
        bench.end(client, politely: true)
        bench.cut()
        #expect(client.ends == [.connectionLost])
        bench.loop.fireTimers()
        #expect(client.ends.count == 1)
    }

    @Test
    func `waits for an answer to a ping behind its own last event, not for that to another's`() throws {
        let bench = EngineBench()
        let clients = try ["/a", "/b", "/c"].map { try bench.opened($0) }
        for client in clients.prefix(2) {
            bench.send("last", by: client)
            bench.end(client, politely: true)
        }
        bench.say(.pong, [])
        #expect(bench.said.last == "41/a,")
        bench.say(.pong, [])
        #expect(bench.said.last == "41/b,")
        #expect(clients.map(\.ends) == [[.connectionLost], [.connectionLost], []])
    }

    @Test
    func `leaves the next link of its namespace to another socket`() throws {
        let (bench, client) = try self.sent()
        bench.end(client, politely: true)
        let next = try bench.open("/a")
        #expect(bench.requests.count == 2)
        #expect(bench.said == ["40/a,"])
        bench.loop.enter { bench.loop.streams[0].finish(readingAtMost: 0) }
        #expect(client.ends == [.connectionLost])
        #expect(next.ends.isEmpty)
    }
}
