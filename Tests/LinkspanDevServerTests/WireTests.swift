internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanSocketIO
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocket
internal import TestedBackEnds
internal import Testing

/// What a hub does for its clients, on every wire.
@Suite(.timeLimit(.minutes(2)), .overSomeBackEnd)
struct WireTests {
    @Test(arguments: Way.allCases)
    func `events, replies, questions and binary go both ways`(_ way: Way) async throws {
        try await Bench.run { bench in
            let client = try await bench.client(way)
            #expect(try await client.handler.request("req", "é😀", 7).decode(Int.self, at: 1) == 7)
            try client.handler.on("question") { try? $0.reply("yes", Data([1, 2, 3])) }
            try client.handler.send("ask", "well?")
            let answer = try await client.received("answered")[0].payload
            #expect(try answer.decode(String.self) == "yes")
            #expect(try answer.decode(Data.self, at: 1) == Data([1, 2, 3]))
        }
    }

    @Test(arguments: Way.allCases)
    func `a message of 1 MiB arrives whole, in text and in binary`(_ way: Way) async throws {
        try await Bench.run { bench in
            let client = try await bench.client(way)
            let blob = Data((0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            let text = String(repeating: "é", count: 1 << 19)
            // A sanitizer takes its time.
            let limit = Duration.seconds(300)
            #expect(try await client.handler.request("req", blob, timeout: limit).decode(Data.self) == blob)
            #expect(try await client.handler.request("req", text, timeout: limit).decode(String.self) == text)
        }
    }

    @Test
    func `members of a room get its messages over every wire`() async throws {
        try await Bench.run { bench in
            var clients: [Client] = []
            for way in Way.allCases {
                let client = try await bench.client(way)
                _ = try await client.handler.request("join", "lobby")
                clients.append(client)
            }
            let outsider = try await bench.client(.webSocket)
            try await outsider.connected()
            _ = try await clients[0].handler.request("tell", "lobby", 1)
            for client in clients.dropFirst() { try await client.received("told") }
            _ = try await outsider.handler.request("req")
            #expect(outsider.messages.entries.isEmpty && clients[0].messages.entries.isEmpty)
        }
    }

    @Test(arguments: Way.allCases)
    func `an error thrown by the hub refuses the client, with message and code`(_ way: Way) async throws {
        let hub = InMemoryHub()
        hub.onConnect { _ throws(LinkspanError) in
            throw LinkspanError(.credentialsRefused, "no name", details: try Payload(["code": "bad_name"]))
        }
        try await Bench.run(hub: hub) { bench in
            let client = try await bench.client(way)
            let error = try #require(try await client.lost().error)
            #expect(error.code == .credentialsRefused)
            #expect(error.message.contains("no name"))
            if case .socketIO = way { #expect(error.details?[0]?["data"]?["code"]?.string == "bad_name") }
            #expect(hub.peers.isEmpty)
        }
    }

    @Test(arguments: Way.allCases)
    func `the hub sees credentials, headers and query, and the end of each client`(_ way: Way) async throws {
        let hub = InMemoryHub.echo()
        try await Bench.run(hub: hub) { bench in
            let client = try await bench.client(way, auth: ["name": "ann"], path: "?room=a%20b")
            _ = try await client.handler.request("req")
            let peer = try #require(hub.peers.first)
            #expect(peer.request.credentials.auth?[0]?["name"]?.string == "ann")
            let query = peer.request.credentials.query.map { "\($0.name): \($0.value.exposed)" }
            #expect(query == ["room: a b"], "without the protocol's own")
            #expect(peer.request.credentials.headers.contains { $0.name == "host" })
            let ends = Journal<Bool>("the end of the peer")
            peer.onEnd { ends.append(true) }
            client.handler.release()
            try await ends.first(1)
        }
    }

    @Test
    func `each namespace has its own hub, and an unknown namespace is refused`() async throws {
        try await Bench.run { bench in
            let second = try await bench.client(.socketIO(.polling), path: "second")
            #expect(try await second.handler.request("req", 1).decode(Int.self) == 1)
            let unknown = try await bench.client(.socketIO(.webSocket), path: "unknown")
            let error = try #require(try await unknown.lost().error)
            #expect(error.code == .refused)
        }
    }

    @Test
    func `without WebSocket support a client falls back to polling`() async throws {
        let configuration = DevServerConfiguration { $0.carriers = .polling }
        try await Bench.run(configuration: configuration) { bench in
            for carriers in [Way.socketIO(.fallback), .socketIO(.upgrade)] {
                let client = try await bench.client(carriers)
                #expect(try await client.handler.request("req", 1).decode(Int.self) == 1)
            }
        }
    }

    @Test(arguments: Way.allCases)
    func `heartbeats keep a silent client, on every wire`(_ way: Way) async throws {
        let configuration = DevServerConfiguration {
            $0.pingInterval = .milliseconds(50)
            $0.pingTimeout = .milliseconds(1_000)
        }
        try await Bench.run(configuration: configuration) { bench in
            // A raw WebSocket tells of the answers to the client's own pings, which are no answers to those of the server.
            let raw = WebSocketTransport(
                .init { $0.keepAlive = .init(interval: .milliseconds(200), timeout: .seconds(10)) }, loop: bench.loop)
            let isRaw = if case .webSocket = way { true } else { false }
            let client = try await bench.client(way, over: isRaw ? raw : nil)
            let since = try await client.connected().time
            // Longer than a client without heartbeats is borne with.
            try await eventually { client.handler.status.lastHeard.map { $0 >= since + .milliseconds(1_500) } ?? false }
            #expect(try await client.handler.request("req", 1).decode(Int.self) == 1)
            #expect(client.states.entries.filter { $0.to == .connected }.count == 1)
        }
    }
}
