internal import TestSupport
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanSocketIO
internal import LinkspanInMemory
internal import TestedBackEnds
internal import Testing

/// What can be made to go wrong.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct FaultTests {
    @Test(arguments: Way.allCases)
    func `a drop ends all links, and clients reconnect`(_ way: Way) async throws {
        try await Bench.run { bench in
            let client = try await bench.client(way)
            _ = try await client.handler.request("req")
            bench.server.drop()
            #expect(try await client.lost().error?.code != .closedByServer)
            try await client.connected(times: 2)
            _ = try await client.handler.request("req")
            #expect(bench.hub.peers.count == 1)
        }
    }

    @Test
    func `one client is dropped and the other is not`() async throws {
        try await Bench.run { bench in
            let ann = try await bench.client(.socketIO(.polling))
            _ = try await ann.handler.request("req")
            let peer = try #require(bench.hub.peers.first)
            let bob = try await bench.client(.webSocket)
            _ = try await bob.handler.request("req")
            bench.server.drop(peer)
            try await ann.connected(times: 2)
            #expect(bob.states.entries.filter { $0.to == .disconnected }.isEmpty)
        }
    }

    /// The official client has paused its polls by then, and hears nothing of a WebSocket that ends before it has gone over.
    @Test
    func `a client that is dropped between its probe and its upgrade hears of it when it has gone over`() async throws {
        let wire = EngineBench.socketIO
        try await Bench.run { bench in
            let port = bench.server.port
            let session = try wire.poll(port)
            #expect(try wire.exchange(port, "POST", session, body: "40").status == 200)
            #expect(try wire.exchange(port, "GET", session).body.hasPrefix("40"))
            let socket = try wire.probe(port, session)
            bench.server.drop(try #require(bench.hub.peers.first))
            try await eventually("the end of the session") { try wire.exchange(port, "GET", session).status != 200 }
            #expect(socket.isAlive())
            socket.send("5")
            #expect(socket.isClosed())
        }
    }

    @Test(arguments: Way.allCases)
    func `a kicked client stays disconnected`(_ way: Way) async throws {
        try await Bench.run { bench in
            let client = try await bench.client(way)
            _ = try await client.handler.request("req")
            bench.server.kick(try #require(bench.hub.peers.first), reason: "enough")
            let code = try #require(try await client.lost().error).code
            if case .webSocket = way { #expect(code == .refused) } else { #expect(code == .closedByServer) }
            try await eventually { bench.hub.peers.isEmpty }
        }
    }

    @Test(arguments: Way.allCases)
    func `a stalled server says nothing, and everything afterwards`(_ way: Way) async throws {
        try await Bench.run { bench in
            let client = try await bench.client(way)
            _ = try await client.handler.request("req")
            bench.server.stall()
            bench.hub.emit("late", try Payload(1))
            await #expect(throws: LinkspanError.self) {
                _ = try await client.handler.request("req", timeout: .milliseconds(300))
            }
            #expect(client.messages.entries.isEmpty)
            bench.server.stall(false)
            try await client.received("late")
            _ = try await client.handler.request("req")
            #expect(client.states.entries.filter { $0.to == .connected }.count == 1)
        }
    }

    @Test(arguments: [Way.socketIO(.webSocket), .socketIO(.polling)])
    func `a stalled server is missed by its heartbeat`(_ way: Way) async throws {
        let configuration = DevServerConfiguration {
            $0.pingInterval = .milliseconds(200)
            // Clients believe nothing shorter, and have that long for an answer.
            $0.pingTimeout = .seconds(1)
        }
        try await Bench.run(configuration: configuration) { bench in
            let client = try await bench.client(way)
            _ = try await client.handler.request("req")
            bench.server.stall()
            #expect(try await client.lost().error?.code == .heartbeatMissed)
            bench.server.stall(false)
            try await client.connected(times: 2)
        }
    }

    @Test(arguments: Way.allCases)
    func `credentials are refused while that is switched on`(_ way: Way) async throws {
        try await Bench.run { bench in
            bench.server.refuseCredentials(code: "closed", message: "the chat is closed")
            let refused = try await bench.client(way)
            let error = try #require(try await refused.lost().error)
            #expect(error.code == .credentialsRefused)
            #expect(error.message.contains("the chat is closed"))
            bench.server.acceptCredentials()
            let client = try await bench.client(way, auth: ["second": "time"], path: "?again")
            _ = try await client.handler.request("req")
        }
    }

    @Test(arguments: Way.allCases)
    func `after a restart the server has the same port, and clients reconnect`(_ way: Way) async throws {
        // Nobody else uses this address, so that nobody takes the port while the server is away.
        let numbers = (0..<3).map { _ in "\(Int.random(in: 1...254))" }
        let configuration = DevServerConfiguration { $0.address = "127.\(numbers.joined(separator: "."))" }
        try await Bench.run(configuration: configuration) { bench in
            let client = try await bench.client(way)
            _ = try await client.handler.request("req")
            let port = bench.server.port
            try await bench.server.restart(after: .milliseconds(200))
            #expect(bench.server.port == port)
            try await client.connected(times: 2)
            _ = try await client.handler.request("req")
            await bench.server.stop()
            try await client.lost(times: 2)
            try await eventually { bench.hub.peers.isEmpty }
            #expect(try await bench.server.start() == port)
            try await client.connected(times: 3)
        }
    }

    @Test(arguments: [Way.socketIO(.webSocket), .webSocket])
    func `a delay holds back what clients say, in its order`(_ way: Way) async throws {
        try await Bench.run { bench in
            let client = try await bench.client(way)
            _ = try await client.handler.request("req")
            bench.server.delay(.milliseconds(300))
            let start = ContinuousClock.now
            for number in 0..<10 { try client.handler.send("echo", number) }
            bench.server.delay(.zero)
            for number in 10..<20 { try client.handler.send("echo", number) }
            let numbers = try await client.received("echo", count: 20).map { try $0.decode(Int.self) }
            #expect(numbers == Array(0..<20))
            bench.server.delay(.milliseconds(300))
            _ = try await client.handler.request("req")
            #expect(start.duration(to: .now) >= .milliseconds(300))
        }
    }

    @Test
    func `a server starts once, and tells of a port that is taken`() async throws {
        try await Bench.run { bench in
            let error = await #expect(throws: LinkspanError.self) { try await bench.server.start() }
            #expect(error?.code == .wrongState)
            let port = bench.server.port
            let other = DevServer(hub: bench.hub, configuration: .init { $0.port = port })
            let taken = await #expect(throws: LinkspanError.self) { try await other.start() }
            #expect(taken?.code == .invalidConfiguration)
            await other.stop()
        }
    }
}
