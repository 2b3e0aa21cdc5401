internal import Foundation
internal import TestedPrograms
internal import Testing

extension Tool {
    /// `linkspan probe` against servers of another make.
    @Suite
    struct ProbeTests {
        /// A server that sends back what it gets, and its URLs.
        private struct Echo {
            let child: Child
            let socketIO: String
            let webSocket: String

            init(on bench: Bench) async throws {
                let script = "\(Place.root)/Tests/ToolTests/Probe/echo.py"
                self.child = try await bench.start("echo", [try Place.python(), script])
                let line = try #require(try await self.child.output.wait(forLine: "listening ").first)
                let ports = line.split(separator: " ").dropFirst()
                self.socketIO = "http://127.0.0.1:\(ports.first ?? "")"
                self.webSocket = "ws://127.0.0.1:\(ports.last ?? "")"
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `events, acknowledgements and binary go over Socket.IO`() async throws {
            try await Bench.run { bench in
                let echo = try await Echo(on: bench)
                let lines = [#"say {"a":[1,2]} hex:00ff hello"#, #"? say {"b" : 1} hex:0102"#]
                let ended = try await bench.runTool(
                    ["probe", echo.socketIO] + lines.flatMap { ["-x", $0] } + ["--until", "echo", "--wait", "9"])
                #expect(ended.status == 0)
                #expect(ended.output.first == #"echo {"a":[1,2]} hex:00ff "hello""#)
                #expect(ended.errors.first?.hasPrefix("* connected to \(echo.socketIO)/ in ") == true)
                let asked = try await bench.runTool(["probe", "-q", echo.socketIO, "-x", lines[1]])
                #expect(asked.output.contains(#"ack say {"b":1} hex:0102"#))
                #expect(asked.status == 0 && asked.errors == [])
                let json = try await bench.runTool(
                    ["probe", echo.socketIO, "--json", "-x", "? say hex:01"])
                #expect(
                    json.output.contains(
                        #"{"acknowledges":"say","arguments":[{"_placeholder":true,"num":0}],"attachments":["AQ=="]}"#))
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: ["websocket", "polling"])
        func `namespace, auth and headers reach the server`(carriers: String) async throws {
            try await Bench.run { bench in
                let echo = try await Echo(on: bench)
                let flags = ["--auth", #"{"token":"t"}"#, "-H", "X-Probe: me", "--carriers", carriers]
                for url in [["\(echo.socketIO)/admin"], [echo.socketIO, "--namespace", "/admin"]] {
                    let ended = try await bench.runTool(["probe"] + url + flags + ["-x", "? hi"])
                    #expect(ended.status == 0 && ended.output.last?.hasPrefix("ack hi") == true, "\(ended)")
                }
                let line = "connect /admin {'token': 't'} me"
                try await echo.child.output.wait(forLine: line, times: 2)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a question of the server is answered`() async throws {
            try await Bench.run { bench in
                let echo = try await Echo(on: bench)
                let probe = try await bench.tool(["probe", echo.socketIO, "--wait", "5"])
                try probe.type(["question"])
                try await probe.output.wait(forLine: #"question "yes?""#)
                try probe.type([#"! "indeed""#])
                try await echo.child.output.wait(forLine: "reply indeed")
                try probe.endInput()
                #expect(try await probe.exit() == 0)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `many lines at once are sent, and one that the server does not accept is an error`() async throws {
            try await Bench.run { bench in
                let echo = try await Echo(on: bench)
                // More than the buffers of the system have room for.
                let lines = (1...5_000).map { "\($0) \(String(repeating: "x", count: 1_000))" } + ["end"]
                let probe = try await bench.tool([
                    "probe", "--quiet", echo.webSocket, "--subprotocol", "probe", "--until", "end", "--wait", "30",
                ])
                try probe.type(lines)
                try probe.endInput()
                #expect(try await probe.exit(within: .seconds(40)) == 0)
                let isSame = await probe.output.lines == lines
                #expect(isSame)
                let large = try await bench.tool(["probe", "--quiet", echo.socketIO])
                try large.type([#"say "\#(String(repeating: "x", count: 1_100_000))""#])
                try large.endInput()
                #expect(try await large.exit(within: .seconds(40)) == 69)
                let complaint = await large.errors.lines.first
                #expect(complaint?.contains("more than the 1000000 that the server accepts") == true)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `text and binary go over a raw WebSocket`() async throws {
            try await Bench.run { bench in
                let echo = try await Echo(on: bench)
                let ended = try await bench.runTool(
                    ["probe", echo.webSocket, "-H", "X-Probe: me", "--subprotocol", "probe", "-x", #"{"op": 1}"#, "-x"]
                        + ["/binary hex:0aff", "-x", "last one", "--until", "last", "--wait", "9"])
                #expect(ended.status == 0)
                #expect(ended.output == [#"{"op": 1}"#, "hex:0aff", "last one"])
                try await echo.child.output.wait(forLine: "headers me")
                // Lines of standard input, and the end of it.
                let piped = try await bench.tool([
                    "probe", "--quiet", echo.webSocket, "--subprotocol", "probe", "--wait", "2",
                ])
                try piped.type(["one", "two"])
                try piped.endInput()
                #expect(try await piped.exit() == 0)
                #expect(await piped.output.lines == ["one", "two"])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a conversation is recorded without secrets, and replayed`() async throws {
            try await Bench.run { bench in
                let echo = try await Echo(on: bench)
                let file = "\(bench.folder)/visit.jsonl"
                let said = ["-x", #"say {"token":"t0p","n":1}"#, "-x", "? ask 2", "--until", "never", "--wait", "1"]
                let recorded = try await bench.runTool(["probe", "-q", echo.socketIO, "--record", file] + said)
                #expect(recorded.status == 75)
                let text = try String(contentsOfFile: file, encoding: .utf8)
                #expect(text.contains(#""from":"client","event":"say","arguments":[{"token":"…","n":1}]"#))
                #expect(text.contains(#""from":"server","event":"ask","reply":true,"arguments":[2]"#))
                #expect(!text.contains("t0p"))

                let replayed = try await bench.runTool(["probe", "-q", echo.socketIO, "--replay", file])
                #expect(replayed.status == 0, "\(replayed)")
                #expect(replayed.output.contains("ack ask 2"))
                #expect(replayed.output.contains { $0.hasPrefix(#"echo {"token":"#) })
                // As if the server had said more.
                let more = text + #"{"at":0.1,"from":"server","event":"news","arguments":[]}"# + "\n"
                try more.write(toFile: file, atomically: true, encoding: .utf8)
                let lacking = try await bench.runTool(["probe", "-q", echo.socketIO, "--replay", file])
                #expect(lacking.status == 75)
                #expect(lacking.errors.contains { $0.contains("not received, unlike in the recording: 1 × 'news'") })
                try "no conversation".write(toFile: file, atomically: true, encoding: .utf8)
                #expect(try await bench.runTool(["probe", echo.socketIO, "--replay", file]).status == 64)

                let bare = ["probe", "-q", echo.webSocket, "--subprotocol", "probe", "--record", file]
                let json = ["-x", #"{"password":"t0p"}"#, "--wait", "1"]
                #expect(try await bench.runTool(bare + json).status == 0)
                #expect(try !String(contentsOfFile: file, encoding: .utf8).contains("t0p"))
                #expect(try await bench.runTool(bare + json + ["--unredacted"]).status == 0)
                #expect(try String(contentsOfFile: file, encoding: .utf8).contains("t0p"))
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a watching probe comes back after a loss, and stays until Ctrl-C`() async throws {
            try await Bench.run { bench in
                let echo = try await Echo(on: bench)
                let flags = ["--subprotocol", "probe", "--watch", "--json"]
                let probe = try await bench.tool(["probe", echo.webSocket, "-x", "hi", "-x", "bye"] + flags)
                try await probe.output.wait(forLine: #"{"text":"hi"}"#)
                try await probe.errors.wait(forLine: "* lost: ")
                try await probe.errors.wait(forLine: "* connected again")
                probe.interrupt()
                #expect(try await probe.exit() == 0)
                // At a terminal there is a line with the state.
                try await Seat.take(on: bench, program: "linkspan", ["probe", echo.webSocket] + flags) { seat in
                    try await seat.wait(for: "received 0  sent 0")
                    await seat.signal(SIGINT)
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `envelopes carry events over a raw WebSocket`() async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                let ended = try await bench.runTool(
                    [
                        "probe", await server.url(for: .websocket), "--envelope", "json", "-x",
                        #"? who {"room":"lobby"}"#,
                    ]
                        + ["--auth", #"{"name":"ann","rooms":["lobby"]}"#])
                #expect(ended.status == 0)
                #expect(ended.output.last == #"ack who {"ok":true,"members":["ann"]}"#)
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `the status tells failures apart`() async throws {
            try await Bench.run { bench in
                let echo = try await Echo(on: bench)
                let refusing = try await ChatServer.start(on: bench, ["--refuse"])
                let refused = await refusing.url(for: .socketio)
                let cases: [(Int, [String])] = [
                    (64, ["ftp://127.0.0.1"]), (64, [echo.socketIO, "-x", "say {"]),
                    (64, [echo.socketIO, "--auth", "{"]),
                    (64, [echo.socketIO, "--wait", "-1"]), (64, [echo.socketIO, "--carriers", "pigeon"]),
                    (69, ["http://127.0.0.1:1", "-x", "hi"]),
                    (69, [echo.webSocket, "--subprotocol", "probe", "-x", "bye", "--until", "never"]),
                    (75, [echo.socketIO, "-x", "? silence", "--timeout", "0.5"]),
                    (75, [echo.webSocket, "--subprotocol", "probe", "-x", "hi", "--until", "never", "--wait", "0.5"]),
                    (77, [refused, "--auth", #"{"name":"ann"}"#]),
                ]
                for (status, arguments) in cases {
                    let ended = try await bench.runTool(["probe"] + arguments)
                    #expect(ended.status == status, "\(arguments) \(ended)")
                    #expect(!ended.errors.isEmpty, "\(arguments)")
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a line that fails with the connection has the status of the connection's end`() async throws {
            try await Bench.run { bench in
                let echo = try await Echo(on: bench)
                // Which of the two is noticed first is chance.
                for _ in 0..<8 {
                    let ended = try await bench.runTool(["probe", echo.socketIO, "-x", "? leave", "-x", "? hi"])
                    #expect(ended.status == 77, "\(ended)")
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `at a terminal, what comes is above the line, and Ctrl-D leaves`() async throws {
            try await Bench.run { bench in
                let echo = try await Echo(on: bench)
                try await Seat.take(on: bench, program: "linkspan", ["probe", echo.socketIO]) { seat in
                    try await seat.wait(for: "* connected to")
                    try await seat.type(#"? say {"a":1}"# + "\r")
                    try await seat.wait(for: "← acknowledged say")
                    let screen = try await seat.wait(for: "the prompt below all") { screen in
                        screen.lines.last { !$0.isEmpty } == ">"
                    }
                    #expect(screen.lines.contains(#"> ? say {"a":1}"#) && screen.lines.contains(#"{"a":1}"#))
                    #expect(screen.unknown == [])
                    try await seat.type("\u{4}")
                    try await seat.wait(for: "status 0")
                    _ = try? await seat.wait(for: "the end", within: .seconds(30)) { _ in false }
                    let settings = try await seat.settings()
                    #expect(settings.before == settings.after)
                }
            }
        }
    }
}
