internal import Foundation
internal import TestedPrograms
internal import Testing

extension Chat {
    /// The commands and keys of every day, at pseudo-terminals and over real servers.
    @Suite
    struct DailyUseTests {
        /// Ann and bob at terminals, in the same room of `server.py`.
        private static func meet(
            environment: [String: String] = [:],
            _ scenario: @escaping @Sendable (_ ann: Seat, _ bob: Seat) async throws -> Void
        ) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let ann = ["join", "--name", "ann"] + (await server.arguments(for: .socketio))
                let bob = ["join", "--name", "bob"] + (await server.arguments(for: .websocket))
                try await Seat.take(on: bench, ann, environment: environment) { ann in
                    try await ann.wait(for: "here: ann")
                    try await Seat.take(on: bench, bob) { bob in
                        try await bob.wait(for: "here: ann, bob")
                        try await ann.wait(for: "here: ann, bob")
                        try await scenario(ann, bob)
                    }
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `private messages and topics go both ways, and call with the bell`() async throws {
            try await Self.meet { ann, bob in
                try await bob.type("/msg ann psst\r")
                try await ann.wait(for: "bob → ann: psst")
                try await bob.wait(for: "a confirmed message") { $0.lines.contains("bob → ann: psst") }
                #expect(await ann.screen.bells == 1)
                try await ann.type("/msg bob what?\r")
                try await bob.wait(for: "ann → bob: what?")
                #expect(await bob.screen.bells == 1)
                try await ann.type("/msg zoe hi\r")
                try await ann.wait(for: "(not delivered: nobody of that name")
                try await bob.type("hello ann\r")
                try await ann.wait(for: "bob: hello ann")
                #expect(await ann.screen.bells == 2)
                try await bob.type("/topic cats\r")
                try await ann.wait(for: "* bob set the topic: cats")
                try await ann.wait(for: "── lobby · cats ·", row: -2)
                try await bob.wait(for: "── lobby · cats ·", row: -2)
                // Who enters again is told, too.
                try await ann.type("/leave\r/join lobby\r/topic\r")
                try await ann.wait(for: "topic of lobby: cats")
                try await ann.type("/topic -\r")
                try await bob.wait(for: "* ann removed the topic")
                #expect(await bob.screen.unknown == [])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `names are completed, earlier input is found, and the wheel scrolls`() async throws {
            try await Self.meet { ann, bob in
                try await ann.type("bo\thello\r")
                try await bob.wait(for: "ann: bob: hello")
                try await ann.type("/w\t\r")
                try await ann.wait(for: "here: ann, bob")
                for number in 1...20 { try await bob.type("line \(number)\r") }
                try await ann.wait(for: "bob: line 20")
                try await ann.type("\u{1B}[<64;5;5M\u{1B}[<64;5;5M")
                try await ann.wait(for: "6 below, Page Down", row: -3)
                try await bob.type("one more\r")
                try await ann.wait(for: "7 below, Page Down", row: -3)
                try await ann.type("\u{1B}[<65;5;5M\u{1B}[<65;5;5M\u{1B}[<65;5;5M")
                try await ann.wait(for: "bob: one more")
                try await ann.wait(for: "── new ─")
                try await ann.type("\u{12}hell")
                try await ann.wait(for: "(history: 'hell') bob: hello", row: -1)
                try await ann.type("\r")
                try await bob.wait(for: "the line, said again") { screen in
                    (screen.scrollback + screen.lines).count { $0 == "ann: bob: hello" } == 2
                }
                try await ann.type("/search line 3\r")
                try await ann.wait(for: "'line 3': 1 of 1", row: -3)
                try await ann.wait(for: "bob: line 3")
                try await ann.type("/mouse off\r")
                try await ann.wait(for: "the mouse given back") { $0.modes[1_000] == false }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `preferences of the configuration hold`() async throws {
            let names = ["TIMES": "true", "BELL": "false", "MOUSE": "false"]
            let environment = Dictionary(uniqueKeysWithValues: names.map { ("LINKSPAN_SERVICES_INTERFACE_\($0)", $1) })
            try await Self.meet(environment: environment) { ann, bob in
                try await bob.type("ann?\r")
                let screen = try await ann.wait(for: "bob: ann?")
                let line = try #require(screen.lines.first { $0.hasSuffix("bob: ann?") })
                #expect(line.wholeMatch(of: /[0-2][0-9]:[0-5][0-9] bob: ann\?/) != nil)
                #expect(screen.bells == 0 && screen.modes[1_000] == nil)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `Ctrl-Z gives the terminal to the shell, and fg goes on`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let bob = try await bench.join("bob", .websocket, server)
                let url = await server.url(for: .socketio)
                try await Seat.shell(on: bench) { ann in
                    try await ann.type("swift run chat join --name ann --transport socketio --url \(url)\r")
                    try await ann.wait(for: "here: ann, bob")
                    #expect(await ann.isRaw)
                    try await ann.type("\u{1A}")
                    try await ann.wait(for: "Stopped")
                    let stopped = await ann.screen
                    #expect(stopped.modes == [25: true, 2_004: false, 7: true, 1_000: false, 1_006: false])
                    try await ann.type("echo from the $((20 + 22))nd shell\r")
                    try await ann.wait(for: "from the 42nd shell")
                    try bob.type(["said meanwhile"])
                    try await ann.type("fg\r")
                    try await ann.wait(for: "bob: said meanwhile")
                    try await ann.wait(for: "here: ann, bob", row: -3)
                    let screen = await ann.screen
                    #expect(screen.modes == [25: true, 2_004: true, 7: false, 1_000: true, 1_006: true])
                    try await ann.type("back again\r")
                    try await bob.output.wait(forLine: "ann: back again")
                }
            }
        }
    }
}
