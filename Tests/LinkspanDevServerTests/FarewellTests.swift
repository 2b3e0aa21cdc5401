internal import TestSupport
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanSocketIO
internal import TestedBackEnds
internal import LinkspanNetwork
internal import Testing

/// What has been sent is with the server when a shutdown returns, and the server knows that the client has left.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct FarewellTests {
    private static func listening() -> (hub: InMemoryHub, said: Journal<String>) {
        let (hub, said) = (InMemoryHub(), Journal<String>("what was said"))
        hub.onConnect { peer in peer.on("say") { said.append($0.payload[0]?.string ?? "") } }
        return (hub, said)
    }

    @Test(arguments: Way.allCases)
    func `nothing is lost that was sent right before a shutdown and the end of the loop`(_ way: Way) async throws {
        let (hub, said) = Self.listening()
        try await Bench.run(hub: hub) { bench in
            let client = try await bench.client(way)
            try await client.connected()
            // More than a socket takes at once.
            let pad = String(repeating: "x", count: 20_000)
            for number in 0..<100 { try client.handler.send("say", "\(number)", pad) }
            #expect(await client.handler.drain(within: .seconds(20)).isEmpty)
            await bench.shutDownClients()
            // As at the end of the process: nothing is sent from here on.
            bench.loop.shutdown()
            #expect(try await said.first(100) == (0..<100).map(String.init))
            while !hub.peers.isEmpty { await Task.yield() }
        }
    }

    @Test(arguments: SocketIOCarriers.allCases)
    func `one of two namespaces that share a socket leaves as cleanly`(_ carriers: SocketIOCarriers)
        async throws
    {
        let (hub, said) = Self.listening()
        try await Bench.run(hub: hub) { bench in
            let way = Way.socketIO(carriers)
            let (first, second) = (try await bench.client(way), try await bench.client(way, path: "second"))
            try await first.connected()
            try await second.connected()
            for number in 0..<10 { try second.handler.send("say", "\(number)") }
            await bench.shutDownClients(from: 1)
            #expect(try await said.first(10) == (0..<10).map(String.init))
            while hub.peers.count > 1 { await Task.yield() }
            try first.handler.send("say", "still here")
            #expect(try await said.first(11).last == "still here")
            #expect(first.states.entries.map(\.to) == [.connected])
        }
    }

    @Test
    func `a client that gives up while it polls for the first time leaves no session behind`() async throws {
        // With sessions left behind there would be no room for the last one before their heartbeat is missed.
        try await Bench.run(configuration: .init { $0.maximumConnections = 8 }) { bench in
            for _ in 0..<40 {
                let client = try await bench.client(.socketIO(.polling))
                try client.handler.disconnect()
            }
            try await bench.client(.socketIO(.polling)).connected()
        }
    }
}
