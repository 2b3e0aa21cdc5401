internal import Foundation
internal import TestedPrograms
internal import Testing

extension Chat {
    @Suite
    struct OutboxTests {
        @Test(
            .timeLimit(.minutes(2)),
            arguments: [Wire.socketio, .websocket])
        func `lines that wait survive kill -9 of the chat, and arrive once and in order`(over wire: Wire) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let (file, lines) = ("\(bench.folder)/outbox.sqlite", (1...50).map { "line \($0)" })
                let arguments = ["join", "--name", "ann", "--outbox", file] + (await server.arguments(for: wire))
                let first = try await bench.chat(arguments)
                try await first.output.wait(forLine: "* connected over \(wire)")
                await server.kill()
                try await first.output.wait(forLine: "* connection lost")
                try first.type(lines)
                try await first.output.wait(forLine: "* kept: line 50")
                await first.kill()
                let listed = try await bench.runTool(["outbox", "list", file])
                #expect(listed.status == 0)
                #expect(listed.output.count == 50)
                #expect(listed.output.allSatisfy { $0.contains(" waiting ann ") })
                #expect(listed.output.last?.contains(#""text":"line 50""#) == true)
                try await server.start()
                let second = try await bench.chat(arguments + ["--drain", "60"])
                try second.type(["afterwards"])
                try second.endInput()
                #expect(try await second.exit() == 0)
                #expect(try server.kept(from: "ann") == lines + ["afterwards"])
                let news = try await second.output.all()
                #expect(lines.allSatisfy { news.contains("* delivered from an earlier visit: \($0)") })
                #expect(try await bench.runTool(["outbox", "list", file]).output.isEmpty)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `lines of one person are not sent by another`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let arguments = await server.arguments(for: .websocket)
                let file = "\(bench.folder)/outbox.sqlite"
                await server.kill()
                let ann = try await bench.chat(["join", "--name", "ann", "--outbox", file] + arguments)
                try ann.type(["of ann"])
                try await ann.output.wait(forLine: "* kept: of ann")
                await ann.kill()
                try await server.start()
                let bob = try await bench.chat(["join", "--name", "bob", "--outbox", file, "--drain", "0"] + arguments)
                try await bob.output.wait(forLine: "* connected")
                try bob.type(["of bob"])
                try bob.endInput()
                #expect(try await bob.exit() == 0)
                let listed = try await bench.runTool(["outbox", "list", file]).output
                #expect(listed.contains { $0.contains(" waiting ann ") })
                let key = try #require(listed.first?.split(separator: " ").first.map(String.init))
                let erased = try await bench.runTool(["outbox", "erase", file, key, "none", "--json"])
                #expect(erased.output == [#"{"done":["\#(key)"],"missing":["none"]}"#] && erased.status == 1)
                #expect(try server.kept(from: "ann").isEmpty)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a second chat on the file and an unknown key are reported`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let file = "\(bench.folder)/outbox.sqlite"
                let arguments = ["join", "--name", "ann", "--outbox", file] + (await server.arguments(for: .websocket))
                let ann = try await bench.chat(arguments)
                try ann.type(["hello"])
                try await ann.output.wait(forLine: "* connected")
                let erased = try await bench.runTool(["outbox", "erase", file, "k"])
                #expect(erased.status == 1)
                #expect(erased.errors.contains { $0.contains("another outbox has the file open") })
                let second = try await bench.chat(arguments)
                try second.type(["refused"])
                try await second.output.wait(forLine: "* not delivered: refused")
                try ann.endInput()
                #expect(try await ann.exit() == 0)
                #expect(try await bench.runTool(["outbox", "retry", file, "k"]).status == 1)
            }
        }
    }
}
