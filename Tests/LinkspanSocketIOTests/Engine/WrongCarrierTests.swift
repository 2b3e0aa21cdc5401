internal import Linkspan
internal import LinkspanNetwork
internal import Testing

@testable import LinkspanSocketIO

/// Without sticky sessions a load balancer sends the requests of one session to several servers.
@Suite("Sessions that the server does not know when they have just begun")
struct ScatteredSessionTests {
    /// Opens a session, which the next server does not know.
    private func scatter(_ bench: EngineBench, after age: Duration = .zero) throws -> String {
        let client = try bench.open("/a")
        bench.answerPoll(with: bench.handshake)
        bench.loop.now += age
        bench.refusePoll(status: 400)
        #expect(client.ends == [.connectionLost])
        return try #require(client.errors.first).message
    }

    @Test(arguments: [SocketIOCarriers.polling, .upgrade])
    func `name sticky sessions from the second on, and an upgrade becomes a WebSocket for ten minutes`(
        _ carriers: SocketIOCarriers
    ) throws {
        let bench = EngineBench(carriers: carriers)
        #expect(try !self.scatter(bench).contains("sticky"))
        #expect(try self.scatter(bench).contains("sticky sessions"))
        let client = try bench.open("/a")
        #expect(bench.requests.last == (carriers == .upgrade ? "an upgrade" : "GET"))
        bench.end(client, politely: false)
        bench.loop.now += .seconds(601)
        _ = try bench.open("/b")
        #expect(bench.requests.last == "GET")
    }

    @Test
    func `are polled again when the server takes no WebSocket either`() throws {
        let bench = EngineBench(carriers: .upgrade)
        for _ in 0..<2 { _ = try self.scatter(bench) }
        bench.loop.upgrades = false
        _ = try bench.open("/a")
        bench.cut()
        _ = try bench.open("/a")
        #expect(bench.requests.last == "GET")
    }

    @Test
    func `are not those that have lasted, nor two with a good one between`() throws {
        let bench = EngineBench(carriers: .polling)
        for age in [0, 10, 0] as [Int] {
            #expect(try !self.scatter(bench, after: .seconds(age)).contains("sticky"))
        }
    }
}

/// The official server says nothing to a WebSocket at another path, and hangs up after a second.
@Suite("WebSockets that end without an answer")
struct UnansweredWebSocketTests {
    /// Two of them, and the poll that follows.
    private func asked() throws -> (EngineBench, EngineBench.Client) {
        let bench = EngineBench()
        bench.loop.upgrades = false
        let first = try bench.open("/a")
        bench.cut()
        #expect(first.ends == [.connectionLost])
        let client = try bench.open("/a")
        bench.cut()
        #expect(client.ends.isEmpty)
        #expect(bench.requests == ["an upgrade", "an upgrade", "GET"])
        return (bench, client)
    }

    @Test
    func `have the server asked by one poll after two of them, which says 404`() throws {
        let (bench, client) = try self.asked()
        bench.refusePoll(status: 404)
        #expect(client.ends == [.refused])
        #expect(client.errors.first?.message.contains("404") == true)
    }

    @Test
    func `name fallback when the server answers the poll, whose session ends at once`() throws {
        let (bench, client) = try self.asked()
        bench.answerPoll(with: bench.handshake)
        #expect(bench.requests.last == "POST 1")
        bench.answerPost()
        #expect(client.ends == [.connectionLost])
        #expect(client.errors.first?.message.contains("`fallback`") == true)
    }

    @Test
    func `stay what they are when the poll is not answered, and are asked about again after two more`() throws {
        let (bench, client) = try self.asked()
        bench.loop.fireTimers()
        #expect(client.ends == [.connectionLost])
        for count in [4, 6] {
            _ = try bench.open("/a")
            bench.cut()
            #expect(bench.requests.count == count)
        }
    }

    @Test
    func `are counted anew after a session`() throws {
        let bench = EngineBench()
        for upgrades in [false, true, false] {
            bench.loop.upgrades = upgrades
            _ = try bench.open("/a")
            bench.cut()
        }
        #expect(bench.requests == Array(repeating: "an upgrade", count: 3))
    }

    @Test(arguments: [200, 400, 403, 426])
    func `are not those that were answered as ordinary requests, which name fallback`(status: Int) {
        let end = WebSocketEnd.stream(ByteStreamError(.refused, "the server answered", status: status))
        let names = WebSocketCarrier.error(end, version: .v4).message.contains("`fallback`")
        #expect(names == (status != 403))
    }
}
