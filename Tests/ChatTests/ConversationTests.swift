internal import Testing

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
