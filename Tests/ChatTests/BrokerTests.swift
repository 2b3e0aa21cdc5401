internal import Foundation
internal import TestSupport
internal import TestedPrograms
internal import Testing

extension Chat {
    /// The chat over a broker, where there is no server of the chat.
    @Suite
    struct BrokerTests {
        /// A broker, the word for it in a configuration, and its address.
        private struct Meeting: Sendable {
            let word: String
            let server: PythonServer
            let folder: String

            static func use(
                _ word: String, nodes: Int = 1,
                _ scenario: @escaping @Sendable (Bench, Meeting) async throws -> Void
            ) async throws {
                try await Bench.run { bench in
                    let folder = "\(bench.folder)/broker"
                    let program = word == "mqtt" ? "mosquitto" : "nats-server"
                    let server = PythonServer(
                        "broker.py", ["--broker", program, "--folder", folder, "--nodes", "\(nodes)"])
                    try await server.use {
                        try await scenario(bench, Meeting(word: word, server: server, folder: folder))
                    }
                }
            }

            func arguments(_ name: String, port: Int? = nil) -> [String] {
                let url = "ws://127.0.0.1:\(port ?? self.server.port)"
                return ["join", "--name", name, "--transport", "websocket", "--protocol", self.word, "--url", url]
            }

            func join(_ name: String, on bench: Bench, port: Int? = nil) async throws -> Child {
                let child = try await bench.chat(self.arguments(name, port: port))
                try await child.output.wait(forLine: "* connected over websocket")
                return child
            }
        }

        private struct Node: Decodable {
            let pid: Int32
            let port: Int
        }

        @Test(.timeLimit(.minutes(3)))
        func `when a node of NATS is killed, two people go on through another, and nothing acknowledged is lost`()
            async throws
        {
            try await Meeting.use("nats", nodes: 3) { bench, meeting in
                let file = try Data(contentsOf: URL(fileURLWithPath: "\(meeting.folder)/nodes.json"))
                let nodes = try JSONDecoder().decode([Node].self, from: file)
                let ann = try await meeting.join("ann", on: bench, port: nodes[0].port)
                let bob = try await meeting.join("bob", on: bench, port: nodes[1].port)
                let (atAnn, atBob) = (Typist("ann", at: ann), Typist("bob", at: bob))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await atAnn.run(ahead: bob) }
                    group.addTask { try await atBob.run(ahead: ann) }
                    try await bob.hear(50, from: "ann")
                    _ = kill(nodes[0].pid, SIGKILL)
                    let (said, heard) = (await atAnn.count, await atBob.count)
                    try await bob.hear(said + 50, from: "ann", within: .seconds(60))
                    try await ann.hear(heard + 50, from: "bob", within: .seconds(60))
                    await atAnn.finish()
                    await atBob.finish()
                    try await group.waitForAll()
                }
                try await bob.hear(await atAnn.count, from: "ann")
                try await ann.hear(await atBob.count, from: "bob")
                for (child, typist, name, other) in [(ann, atBob, "bob", atAnn), (bob, atAnn, "ann", atBob)] {
                    try child.endInput()
                    // Everything that this person has said is acknowledged.
                    #expect(try await child.exit() == 0)
                    let news = await child.output.lines.filter { $0.hasPrefix("* ") }
                    #expect(!news.contains { $0.contains("not delivered") || $0.contains("missed") }, "\(news)")
                    let heard = await child.heard(from: name)
                    #expect(Delivery(of: await typist.count, from: name, in: heard) == .perfect)
                    let own = name == "bob" ? "ann" : "bob"
                    let kept = try await Self.kept(by: own, on: bench, port: nodes[1].port)
                    #expect(Delivery(of: await other.count, from: own, in: kept) == .perfect)
                }
                let news = await ann.output.lines.filter { $0.hasPrefix("* ") }
                #expect(news.contains { $0.hasPrefix("* connection lost") }, "\(news)")
            }
        }

        /// The lines of a person, read from the stream by nats-py.
        private static func kept(by name: String, on bench: Bench, port: Int) async throws -> [String] {
            let script = """
                import asyncio, json, sys, nats
                async def main():
                    client = await nats.connect(f"ws://127.0.0.1:{sys.argv[1]}")
                    stream = client.jetstream()
                    for number in range(1, (await stream.stream_info("chat")).state.last_seq + 1):
                        line = json.loads((await stream.get_msg("chat", number)).data)
                        if line["from"] == sys.argv[2]: print(line["text"])
                    await client.close()
                asyncio.run(main())
                """
            let reader = try await bench.start("the stream", [try Place.python(), "-c", script, "\(port)", name])
            return try await reader.output.all()
        }

        @Test(.timeLimit(.minutes(2)), arguments: ["mqtt", "nats"])
        func `what is said while somebody's link is cut is shown when they are back`(word: String) async throws {
            try await Meeting.use(word) { bench, meeting in
                let relay = PythonServer("relay.py", ["--to", "\(meeting.server.port)"])
                try await relay.use {
                    let bob = try await meeting.join("bob", on: bench, port: relay.port)
                    let ann = try await meeting.join("ann", on: bench)
                    try ann.type(["one"])
                    try await bob.output.wait(forLine: "ann: one")
                    await relay.stop()
                    try await bob.output.wait(forLine: "* connection lost")
                    try ann.type(["two", "three"])
                    try bob.type(["four"])
                    try ann.endInput()
                    #expect(try await ann.exit() == 0)
                    try await relay.start()
                    try await bob.output.wait(forLine: "ann: three")
                    try bob.endInput()
                    #expect(try await bob.exit() == 0)
                    let lines = await bob.output.lines
                    #expect(lines.filter { $0.hasPrefix("ann: ") } == ["ann: one", "ann: two", "ann: three"])
                    #expect(!lines.contains { $0.contains("missed") }, "\(lines)")
                }
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: ["mqtt", "nats"])
        func `what is said to one person while the link is cut arrives when it is back`(word: String) async throws {
            try await Meeting.use(word) { bench, meeting in
                let relay = PythonServer("relay.py", ["--to", "\(meeting.server.port)"])
                try await relay.use {
                    let bob = try await meeting.join("bob", on: bench)
                    try await Seat.take(on: bench, meeting.arguments("ann", port: relay.port), columns: 100) { ann in
                        try await ann.wait(for: "here: ann, bob", row: -3)
                        await relay.stop()
                        try await ann.wait(for: "connection lost")
                        try await ann.type("/msg bob psst\r")
                        try await relay.start()
                        try await bob.output.wait(forLine: "* ann to you alone: psst")
                    }
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `lines that MQTT has not kept are a gap`() async throws {
            try await Meeting.use("mqtt") { bench, meeting in
                let ann = try await meeting.join("ann", on: bench)
                // The broker comes back without sessions.
                try await meeting.server.restart()
                try await ann.output.wait(forLine: "* lines may have been missed")
                try ann.endInput()
                #expect(try await ann.exit() == 0)
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: ["mqtt", "nats"])
        func `a topic outlives a loss of the links of all who know it`(word: String) async throws {
            try await Meeting.use(word) { bench, meeting in
                let bob = try await meeting.join("bob", on: bench)
                try await Seat.take(on: bench, meeting.arguments("ann"), columns: 100) { ann in
                    try await ann.wait(for: "here: ann, bob", row: -3)
                    try await ann.type("/topic cats\r")
                    try await bob.output.wait(forLine: "* ann set the topic: cats")
                    try await meeting.server.restart()
                    let late = try await meeting.join("late", on: bench)
                    try await late.output.wait(forLine: "* the topic: cats")
                    try late.endInput()
                }
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: ["mqtt", "nats"])
        func `people come and go, set topics and say something to one person alone`(word: String) async throws {
            try await Meeting.use(word) { bench, meeting in
                let bob = try await meeting.join("bob", on: bench)
                try await Seat.take(on: bench, meeting.arguments("ann"), columns: 100) { ann in
                    try await ann.wait(for: "here: ann, bob", row: -3)
                    try await ann.type("/topic cats\r")
                    try await bob.output.wait(forLine: "* ann set the topic: cats")
                    let late = try await meeting.join("late", on: bench)
                    try await late.output.wait(forLine: "* the topic: cats")
                    try await ann.type("/topic -\r")
                    try await late.output.wait(forLine: "* ann removed the topic")
                    try late.endInput()
                    try await ann.type("/msg bob psst\r")
                    try await bob.output.wait(forLine: "* ann to you alone: psst")
                    try await ann.type("/msg eve psst\r")
                    try await ann.wait(for: "nobody of that name is here")
                    try await ann.type("/join a room, a.b/c\r")
                    let eve = try await bench.chat(meeting.arguments("eve") + ["--room", "a room, a.b/c"])
                    try await ann.wait(for: "here: ann, eve", row: -3)
                    try eve.type(["hello"])
                    try await ann.wait(for: "hello")
                    try eve.endInput()
                    try await ann.wait(for: "that eve has left") {
                        !$0.lines[$0.rows - 3].contains("eve") && $0.lines[$0.rows - 3].contains("here: ann")
                    }
                }
                try await bob.output.wait(forLine: "* ann left")
            }
        }
    }
}
