internal import Testing

extension Chat {
    @Suite
    struct TerminalTests {
        @Test("nobody's line can control the terminal of another", .timeLimit(.minutes(2)))
        func controlCharacters() async throws {
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

        @Test("what is written to a file or a pipe has no escape sequences", .timeLimit(.minutes(2)))
        func escapeSequences() async throws {
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
