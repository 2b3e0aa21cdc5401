internal import Foundation
internal import TestedPrograms
internal import Testing

extension Chat {
    @Suite
    struct PseudoTerminalTests {
        /// Ann at a terminal and bob at a pipe, in the same room.
        private static func meet(
            columns: Int = 70, rows: Int = 16, environment: [String: String] = [:],
            _ scenario: @escaping @Sendable (_ ann: Seat, _ bob: Child, _ server: ChatServer) async throws -> Void
        ) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let bob = try await bench.join("bob", .websocket, server)
                let arguments = ["join", "--name", "ann"] + (await server.arguments(for: .socketio))
                let urls = ["LINKSPAN_TRANSPORT_WEBSOCKET_URL": await server.url(for: .websocket)]
                try await Seat.take(
                    on: bench, arguments, columns: columns, rows: rows,
                    environment: urls.merging(environment) { $1 }
                ) { ann in
                    try await ann.wait(for: "connected over socketio", row: -2)
                    try await bob.output.wait(forLine: "* ann joined")
                    // From here on the screen changes only when somebody does something.
                    if columns >= 70, environment["TERM"] == nil {
                        try await ann.wait(for: "here: ann, bob")
                        try await ann.wait(for: " ms", row: -2)
                    }
                    try await scenario(ann, bob, server)
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a line that is being typed survives what others say`() async throws {
            try await Self.meet { ann, bob, _ in
                try await ann.type("half a line")
                try await ann.wait(for: "> half a line", row: -1)
                try bob.type(Delivery.lines(1...40, from: "bob"))
                let screen = try await ann.wait(for: "bob: bob 40")
                #expect(screen.lines.last == "> half a line")
                #expect(screen.cursor == (15, 13))
                let heard = (screen.scrollback + screen.lines).filter { $0.hasPrefix("bob: ") }
                #expect(heard == (1...40).map { "bob: bob \($0)" })
                try await ann.type("\u{1B}[D\u{1B}[D\u{7F}\u{7F}\u{1B}[H\u{1B}[C\r")
                try await bob.output.wait(forLine: "ann: half a ne")
                try await ann.wait(for: "ann: half a ne")
                try await ann.type("\u{1B}[A!\r")
                try await bob.output.wait(forLine: "ann: half a ne!")
                #expect(await ann.screen.unknown == [])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `the screen follows the size of the window`() async throws {
            try await Self.meet { ann, bob, _ in
                try bob.type(["a line that is long enough to be broken in a window of thirty columns"])
                try await ann.wait(for: "bob: a line that is long")
                try await ann.type("typed 世界")
                for (columns, rows) in [(30, 12), (90, 24), (20, 3), (8, 1), (1, 1), (70, 16)] {
                    await ann.resize(columns: columns, rows: rows)
                    let screen = try await ann.wait(for: "the frame for \(columns)x\(rows)") { screen in
                        let hasRule = rows < 2 || screen.lines[rows - 2].hasPrefix("── ")
                        return hasRule && (columns < 20 || screen.lines[rows - 1] == "> typed 世界")
                            && (columns >= 20 || screen.cursor.row == rows - 1)
                    }
                    #expect(screen.unknown == [])
                    #expect(screen.isWhole)
                }
                let screen = try await ann.wait(for: "> typed 世界", row: -1)
                #expect(screen.cursor == (15, 12))
                try await ann.wait(for: "bob: a line that is long enough to be broken")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a chat that was stopped takes the terminal back when it goes on`() async throws {
            try await Self.meet { ann, bob, _ in
                try bob.type(["hello"])
                let before = try await ann.wait(for: "bob: hello").text
                await ann.interlude("\u{1B}[5;1H$ ls\u{1B}[16;1Hfile\u{1B}[1;1H")
                try await ann.wait(for: "the screen as it was") { $0.text == before }
                #expect(await ann.isRaw)
                try await ann.type("on it goes\r")
                try await bob.output.wait(forLine: "ann: on it goes")
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: [false, true])
        func `NO_COLOR is respected`(isWanted: Bool) async throws {
            try await Self.meet(environment: isWanted ? [:] : ["NO_COLOR": "1"]) { ann, bob, _ in
                try bob.type(["hello"])
                try await ann.wait(for: "bob: hello")
                try await ann.type("hi\r")
                try await ann.wait(for: "ann: hi")
                try await ann.type("\u{3}")
                let screen = try await ann.wait(for: "status 0")
                #expect((screen.attributes > 0) == isWanted)
            }
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: ["\u{3}", "\u{4}", "/quit\r", "SIGTERM", "SIGHUP"])
        func `leaving restores the terminal, with the conversation on it`(way: String) async throws {
            try await Self.meet { ann, bob, _ in
                try bob.type(["hello"])
                try await ann.wait(for: "bob: hello")
                #expect(await ann.isRaw)
                switch way {
                case "SIGTERM": await ann.signal(SIGTERM)
                case "SIGHUP": await ann.signal(SIGHUP)
                default: try await ann.type(way)
                }
                let screen = try await ann.wait(for: "status ")
                #expect(screen.text.contains(["SIGTERM": "status 143", "SIGHUP": "status 129"][way] ?? "status 0"))
                #expect(screen.text.contains("bob: hello"))
                #expect(!screen.text.contains("connected over socketio ·"))
                #expect(screen.modes == [25: true, 2_004: false, 7: true, 1_000: false, 1_006: false])
                #expect(screen.isWhole)
                try await bob.output.wait(forLine: "* ann left")
                _ = try? await ann.wait(for: "the end", within: .seconds(30)) { _ in false }
                let settings = try await ann.settings()
                #expect(!settings.before.isEmpty)
                #expect(settings.before == settings.after)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a refusal is reported after the terminal is restored`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let arguments = ["join", "--name", "   "] + (await server.arguments(for: .socketio))
                try await Seat.take(on: bench, arguments) { seat in
                    let screen = try await seat.wait(for: "status 1")
                    #expect(screen.text.contains("chat: "))
                    #expect(screen.modes == [25: true, 2_004: false, 7: true, 1_000: false, 1_006: false])
                    _ = try? await seat.wait(for: "the end", within: .seconds(30)) { _ in false }
                    let settings = try await seat.settings()
                    #expect(settings.before == settings.after)
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `lines typed while the server is away wait, and arrive`() async throws {
            try await Self.meet { ann, bob, server in
                await server.kill()
                try await ann.wait(for: "reconnecting", row: -2)
                try await ann.type("one\rtwo\r")
                try await ann.wait(for: "2 messages waiting", row: -2)
                try await ann.wait(for: "ann: two …")
                try await server.start()
                try await ann.wait(for: "connected over socketio", row: -2)
                try await bob.output.wait(forLine: "ann: two")
                let screen = try await ann.wait(for: "a line without a mark") { $0.lines.contains("ann: two") }
                #expect(!screen.text.contains("waiting"))
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: ["/topic cats", "/join attic"])
        func `a line behind a command without an answer is shown, and counted at the end`(command: String) async throws
        {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let arguments = ["join", "--name", "ann", "--drain", "1"] + (await server.arguments(for: .websocket))
                try await Seat.take(on: bench, arguments) { ann in
                    try await ann.wait(for: "here: ann")
                    await server.pause()
                    try await ann.type("\(command)\rprecious line\r\u{4}")
                    let screen = try await ann.wait(for: "status 1")
                    #expect(screen.text.contains("ann: precious line"))
                    #expect(screen.text.contains("chat: 1 line not delivered"))
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a name is not changed while a line is unconfirmed, which is said once`() async throws {
            try await Self.meet { ann, bob, server in
                await server.pause()
                try await ann.type("once\r/nick anna\r")
                try await ann.wait(for: "* 1 line not confirmed yet; /nick anna works once nothing waits")
                await server.resume()
                try await bob.output.wait(forLine: "ann: once")
                try await ann.wait(for: "a confirmed line") { $0.lines.contains("ann: once") }
                try await ann.type("/nick anna\r")
                try await bob.output.wait(forLine: "* anna joined")
                try await ann.type("twice\r")
                try await bob.output.wait(forLine: "anna: twice")
                let heard = await bob.output.lines.filter { $0.contains(": ") }
                #expect(heard == ["ann: once", "anna: twice"])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a session goes to another adapter and back without losing a line`() async throws {
            try await Self.meet { ann, bob, _ in
                let wires = ["websocket", "socketio", "websocket"]
                for (index, wire) in wires.enumerated() {
                    try bob.type(["bob \(index) before"])
                    try await ann.type("ann \(index) before\r/transport \(wire)\rann \(index) after\r")
                    try await ann.wait(for: "connected over \(wire)", row: -2)
                    try bob.type(["bob \(index) after"])
                    try await bob.output.wait(forLine: "ann: ann \(index) after")
                    try await ann.wait(for: "bob: bob \(index) after")
                }
                let expected = (0..<wires.count).flatMap { ["\($0) before", "\($0) after"] }
                let heard = await bob.output.lines.filter { $0.hasPrefix("ann: ") }
                #expect(heard == expected.map { "ann: ann \($0)" })
                let screen = await ann.screen
                let seen = (screen.scrollback + screen.lines).filter { $0.hasPrefix("bob: ") }
                #expect(seen == expected.map { "bob: bob \($0)" })
                try await ann.type("/transport pigeon\r")
                try await ann.wait(for: "unknown transport 'pigeon'")
                try await ann.wait(for: "connected over websocket", row: -2)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `rooms, names and the plug`() async throws {
            try await Self.meet { ann, bob, _ in
                try await ann.type("/nick anna\r")
                try await bob.output.wait(forLine: "* anna joined")
                try await ann.wait(for: "connected over socketio", row: -2)
                try await ann.type("/who\r")
                try await ann.wait(for: "here: anna, bob")
                try await ann.type("/offline\r")
                try await ann.wait(for: "offline", row: -2)
                try await ann.type("typed offline\r")
                try await ann.wait(for: "1 message waiting", row: -2)
                try await ann.type("/online\r")
                try await bob.output.wait(forLine: "anna: typed offline")
                try await ann.type("/join attic\r")
                try await ann.wait(for: "── attic ·", row: -2)
                try await ann.type("/who\r")
                try await ann.wait(for: "here: anna")
                try await ann.type("/leave\r")
                try await ann.wait(for: "── lobby ·", row: -2)
                try await ann.type("back in the lobby\r")
                try await bob.output.wait(forLine: "anna: back in the lobby")
                try await ann.type("/explain\r")
                try await ann.wait(for: "linkspan.transport.adapter = socketio")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `typing is shown to others at a terminal`() async throws {
            try await Self.meet { ann, _, server in
                let url = await server.url(for: .websocket)
                try await Bench.run { bench in
                    let arguments = ["join", "--name", "eve", "--transport", "websocket", "--url", url]
                    try await Seat.take(on: bench, arguments) { eve in
                        try await eve.wait(for: "here: ann, bob, eve")
                        try await eve.type("x")
                        try await ann.wait(for: "eve is typing …", row: -3)
                    }
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a line cannot control the terminal`() async throws {
            try await Self.meet { ann, bob, _ in
                try bob.type(raw: "\u{1B}]0;title\u{7}\u{1B}[2J\u{1B}[?1049h\u{9B}5n\r\u{8}\u{E}shifted\n")
                let screen = try await ann.wait(for: "shifted")
                #expect(screen.unknown == [])
                #expect(screen.modes == [25: true, 2_004: true, 7: false, 1_000: true, 1_006: true])
                #expect(screen.text.contains("* connected over socketio"))
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `log lines come into the conversation and leave the screen alone`() async throws {
            try await Self.meet(environment: ["LINKSPAN_SERVICES_LOGGING_LEVEL": "debug"]) { ann, _, server in
                await server.kill()
                try await ann.wait(for: "a line of the log") { screen in
                    (screen.scrollback + screen.lines).contains { $0.hasPrefix("* ") && $0.contains("debug") }
                }
                let screen = try await ann.wait(for: "reconnecting", row: -2)
                #expect(screen.lines.last == ">")
                #expect(screen.unknown == [])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a terminal that knows no sequences gets plain lines`() async throws {
            try await Bench.run { bench in
                try await Seat.take(on: bench, ["join", "--name", "ann"], environment: ["TERM": "dumb"]) { seat in
                    try await seat.wait(for: "* connected over memory")
                    #expect(await !seat.isRaw)
                    try await seat.type("\u{4}")
                    let screen = try await seat.wait(for: "status 0")
                    #expect(screen.modes == [:])
                    #expect(screen.attributes == 0)
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `output into a file is plain, also while a person types`() async throws {
            try await Bench.run { bench in
                let file = "\(bench.folder)/out.txt"
                try await Seat.take(on: bench, ["join", "--name", "ann"], redirection: ">'\(file)'") { seat in
                    try await seat.type("hello\n\u{4}")
                    let screen = try await seat.wait(for: "status 0")
                    #expect(screen.modes == [:])
                    #expect(try String(contentsOfFile: file, encoding: .utf8) == "* connected over memory\n")
                }
            }
        }
    }
}
