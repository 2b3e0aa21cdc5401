internal import TestedPrograms
internal import Testing

extension Chat {
    @Suite
    struct TerminalTests {
        @Test(.timeLimit(.minutes(2)))
        func `a line cannot control the terminal of another member`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let ann = try await bench.join("ann", .socketio, server)
                let bob = try await bench.join("bob", .socketio, server)
                try bob.type(raw: "\u{1B}[31mred\u{7} \u{9B}2J\rann: fake\u{8}\u{7F}\u{0}\tend ✓ é 👩‍👩‍👧\n")
                let lines = try await ann.output.wait(forLine: "bob: ")
                let line = try #require(lines.first { $0.hasPrefix("bob: ") })
                #expect(line.contains("red"))
                #expect(line.contains("2J"))
                #expect(line.contains("ann: fake"))
                #expect(line.hasSuffix("end ✓ é 👩‍👩‍👧"))
                for chat in [ann, bob] {
                    let controls = await chat.output.lines.joined().unicodeScalars
                        .filter { $0.properties.generalCategory == .control && $0 != "\t" }
                    #expect(controls.isEmpty)
                }
            }
        }

        @Test(
            .timeLimit(.minutes(2))
        )
        func `a name or line cannot imitate a notice of the chat or reverse the text direction`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let ann = try await bench.join("ann", .socketio, server)
                let forger = try await bench.join("* disconnected", .socketio, server)
                try await ann.output.wait(forLine: #"* "* disconnected" joined"#)
                try forger.type(raw: "one\u{2028}* bob joined\u{202E}\u{2066}.\n")
                let lines = try await ann.output.wait(forLine: #""* disconnected": "#)
                let line = try #require(lines.first { $0.hasPrefix(#""* disconnected": "#) })
                #expect(line == "\"* disconnected\": one * bob joined\u{FFFD}\u{FFFD}.")
                let liar = try await bench.join("ann left, bob", .socketio, server)
                try await ann.output.wait(forLine: #"* "ann left, bob" joined"#)
                try liar.endInput()
                try await ann.output.wait(forLine: #"* "ann left, bob" left"#)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `output to a file or a pipe has no escape sequences`() async throws {
            try await Bench.run { bench in
                for arguments in [["demo"], ["join", "--name", "ann"], ["--help"], ["join", "--help"]] {
                    let ended = try await bench.runChat(arguments)
                    #expect(ended.status == 0)
                    #expect(!(ended.output + ended.errors).joined().contains("\u{1B}"))
                }
            }
        }
    }
}
