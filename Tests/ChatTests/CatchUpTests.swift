internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import TestedPrograms
internal import Testing

@testable internal import chat

/// A client that missed more lines than the server sends at once can still enter.
@Suite
struct CatchUpTests {
    private struct Entry: Encodable {
        var name: String
        var rooms = ["lobby"]
        var seen: [String: Int]?
    }

    private struct Line: Codable {
        var room = "lobby"
        var text = String(repeating: "x", count: 8_192)
        var id = ""
        var seq: Int?
    }

    @Test(.timeLimit(.minutes(3)))
    func `a client that missed more than the server keeps for one gets the newest of it, over every wire`() async throws
    {
        let (chat, manager) = (ChatHub(), ConnectionManager())
        let ann = try ConnectionBuilder("memory://chat").transport(.inMemory(chat.hub))
            .credentials(.fixed(try Credentials(auth: Entry(name: "ann")))).connect(by: manager)
        let last = 3_000
        for number in 1...last { _ = try await ann.request("say", Line(id: "\(number)")) }
        let server = DevServer(
            hub: chat.hub, configuration: .init { $0.introduction = .required(within: .seconds(60)) })
        try await server.start()
        let wires: [(url: String, transport: any Transport)] = [
            (server.socketIOURL, .socketIO(.init { $0.carriers = .polling })),
            (server.socketIOURL, .socketIO(.init { $0.carriers = .webSocket })), (server.webSocketURL, .webSocket),
        ]
        for (url, transport) in wires {
            let bob = try ConnectionBuilder(url).transport(transport)
                .credentials(.fixed(try Credentials(auth: Entry(name: "bob", seen: ["lobby": 0])))).build()
            let manager = ConnectionManager()
            let (handler, bytes) = (try manager.connect(bob), Lock(0))
            let lines = try handler.events("message", capacity: last, bytes: 64 << 20)
            try handler.onAny { message in bytes.withLock { $0 += message.payload.byteCount } }
            for await line in lines where try line.message.decode(Line.self).seq == last { break }
            #expect(handler.state == .connected)
            #expect(handler.status.history.count { $0.to == .connected } == 1, "it came back")
            #expect(bytes.withLock { $0 } > 3 << 20)
            await manager.shutdown()
        }
        await manager.shutdown()
        await server.stop()
    }
}

extension Chat {
    @Suite
    struct ConversationTests {
        @Test(.timeLimit(.minutes(2)), arguments: [Wire.websocket, .socketio])
        func `a thousand lines of each chat reach the other one and a client of another make, in order`(wire: Wire)
            async throws
        {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let script = "\(Place.root)/Tests/ChatTests/listener.py"
                let url = await server.url(for: .socketio)
                let eve = try await bench.start("eve", [try Place.python(), script, url, "eve", "lobby"])
                try await eve.output.wait(forLine: "* in lobby")
                let ann = try await bench.join("ann", .socketio, server)
                let bob = try await bench.join("bob", wire, server)
                for name in ["ann", "bob"] { try await eve.output.wait(forLine: "* \(name) joined") }

                try ann.type(Delivery.lines(1...1_000, from: "ann"))
                try bob.type(Delivery.lines(1...1_000, from: "bob"))

                for (reader, names) in [(ann, ["bob"]), (bob, ["ann"]), (eve, ["ann", "bob"])] {
                    for name in names {
                        try await reader.hear(1_000, from: name)
                        #expect(Delivery(of: 1_000, from: name, in: await reader.heard(from: name)) == .perfect)
                    }
                }
                for chat in [ann, bob] {
                    try chat.endInput()
                    #expect(try await chat.exit() == 0)
                    #expect(await chat.complaints == [])
                }
            }
        }
    }
}
