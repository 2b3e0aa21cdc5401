internal import Linkspan
internal import LinkspanWebSocket
internal import TestedPrograms
internal import Testing
internal import TestSupport

@testable internal import chat

extension Chat {
    /// `chat serve`: the sample's own server.
    @Suite(.timeLimit(.minutes(2)))
    struct ServeTests {
        private static let announcement = "serving socketio and websocket on "

        /// Starts a server at a free port; returns it with its host and port.
        private static func serve(
            on bench: Bench, _ arguments: [String] = [], environment: [String: String] = [:]
        ) async throws -> (server: Child, place: String) {
            let server = try await bench.chat(["serve", "--port", "0"] + arguments, environment: environment)
            let lines = try await server.output.wait(forLine: Self.announcement)
            let line = try #require(lines.first { $0.hasPrefix(Self.announcement) })
            return (server, String(line.dropFirst(Self.announcement.count)))
        }

        private static func join(_ name: String, _ wire: Wire, _ place: String, _ bench: Bench) async throws -> Child {
            let url = wire == .socketio ? "http://\(place)" : "ws://\(place)"
            let chat = try await bench.chat(["join", "--name", name, "--transport", wire.rawValue, "--url", url])
            try await chat.output.wait(forLine: "* connected over \(wire)")
            return chat
        }

        @Test
        func `idle connections beyond the limit for open files lock nobody out`() async throws {
            try await Bench.run { bench in
                let command = "ulimit -n 128 && exec '\(try Place.program("chat"))' serve --port 0"
                let server = try await bench.start("the server", ["/bin/sh", "-c", command])
                let line = try #require(
                    try await server.output.wait(forLine: Self.announcement).first {
                        $0.hasPrefix(Self.announcement)
                    })
                let place = String(line.dropFirst(Self.announcement.count))
                let port = try #require(place.split(separator: ":").last.flatMap { Int($0) })
                // It may rest for 75 s after its request, longer than the client here waits for the end.
                let oldest = try RawClient(port: port)
                oldest.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(oldest.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
                let idle = try (0..<300).map { _ in try RawClient(port: port) }
                #expect(oldest.readToEnd() != nil)
                let ann = try await Self.join("ann", .websocket, place, bench)
                try ann.endInput()
                #expect(try await ann.exit() == 0)
                withExtendedLifetime(idle) {}
            }
        }

        #if os(Linux)
        @Test(.disabled(if: AddressSanitizer.isOn, "it keeps what was freed for a while"))
        func `a full history takes at most a third as much memory again, however long it goes on`() async throws {
            try await Bench.run { bench in
                // One arena: threads that meet on a busy machine would get one more of the system's each.
                let (server, place) = try await Self.serve(on: bench, environment: ["MALLOC_ARENA_MAX": "1"])
                let before = try #require(server.ownBytes)
                var whenFull = 0
                let (manager, text) = (ConnectionManager(), String(repeating: "x", count: 8_000))
                let entry = ChatVocabulary.Entry(name: "ann", rooms: ["lobby"])
                let ann = try ConnectionBuilder("ws://\(place)").transport(.webSocket)
                    .credentials(.fixed(try Credentials(auth: entry))).connect(by: manager)
                // Few at a time: what is under way takes memory, too, and more of it on a busy machine.
                for batch in 0..<900 {
                    // Some 420 batches fill it.
                    if batch == 500 { whenFull = try #require(server.ownBytes) - before }
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 0..<10 {
                            let line = ChatVocabulary.Say(room: "lobby", text: text, id: "\(batch) \(number)")
                            group.addTask { _ = try await ann.request("say", line) }
                        }
                        try await group.waitForAll()
                    }
                }
                let grown = try #require(server.ownBytes) - before
                #expect(grown < ChatRooms.maximumBytes * 4 / 3, "\(grown >> 20) MiB")
                #expect(grown < whenFull + ChatRooms.maximumBytes / 16, "\(whenFull >> 20) to \(grown >> 20) MiB")
                await manager.shutdown()
            }
        }
        #endif

        @Test
        func `the page is given out without inline code, its script and style as files of the server`() async throws {
            try await Bench.run { bench in
                let (_, place) = try await Self.serve(on: bench)
                let port = try #require(place.split(separator: ":").last.flatMap { Int($0) })
                for (path, type) in [("", "html"), ("chat.js", "javascript"), ("chat.css", "css")] {
                    let client = try RawClient(port: port)
                    client.write("GET /\(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    let answer = String(decoding: try #require(client.readToEnd()), as: UTF8.self)
                    #expect(answer.contains("Content-Type: text/\(type); charset=utf-8\r\n"))
                    #expect(answer.contains("script-src 'self'; ") && !answer.contains("unsafe-inline"))
                    #expect(!answer.contains("<style"))
                }
            }
        }

        @Test
        func `people meet over both wires, survive a restart, and the server ends when it is asked to`() async throws {
            try await Bench.run { bench in
                let (server, place) = try await Self.serve(on: bench)
                let ann = try await Self.join("ann", .socketio, place, bench)
                let bob = try await Self.join("bob", .websocket, place, bench)
                try await ann.output.wait(forLine: "* bob joined")
                try ann.type(["hello"])
                try await bob.output.wait(forLine: "ann: hello")
                try server.type(["restart 0.5"])
                for chat in [ann, bob] { try await chat.output.wait(forLine: "* connection lost") }
                try bob.type(["typed meanwhile"])
                try await ann.output.wait(forLine: "bob: typed meanwhile")
                server.terminate()
                #expect(try await server.exit() == 0)
                #expect(await server.complaints == [])
            }
        }

        @Test
        func `faults are typed: a refusal, a kick, and what means nothing`() async throws {
            try await Bench.run { bench in
                let (server, place) = try await Self.serve(on: bench)
                let ann = try await Self.join("ann", .socketio, place, bench)
                try server.type(["nonsense"])
                try await server.errors.wait(forLine: "chat: unknown fault")
                try server.type(["kick ann"])
                #expect(try await ann.exit() == 1)
                try server.type(["refuse on", "nonsense"])
                try await server.errors.wait(forLine: "chat: unknown fault", times: 2)
                let bob = try await bench.chat([
                    "join", "--name", "bob", "--transport", "socketio", "--url", "http://\(place)",
                ])
                #expect(try await bob.exit() == 1)
                #expect(try await bob.errors.all().contains { $0.contains("the chat is closed") })
                server.terminate()
                #expect(try await server.exit() == 0)
            }
        }

        @Test(arguments: [Wire.socketio, .websocket])
        func `without input, a name that is refused is reported, with status 1`(wire: Wire) async throws {
            try await Bench.run { bench in
                let (_, place) = try await Self.serve(on: bench)
                let url = wire == .socketio ? "http://\(place)" : "ws://\(place)"
                let name = String(repeating: "a", count: 65)
                let ended = try await bench.runChat([
                    "join", "--name", name, "--transport", wire.rawValue, "--url", url,
                ])
                #expect(ended.status == 1)
                #expect(ended.errors.contains { $0.contains("a name must have 1 to 64 characters") }, "\(ended)")
            }
        }

        @Test
        func `a page of another site cannot join, unless its origin is allowed`() async throws {
            try await Bench.run { bench in
                let (_, place) = try await Self.serve(on: bench, ["--allow-origin", "https://app.example"])
                let foreign = try await Self.page("https://evil.example", place, bench)
                try await foreign.output.wait(forLine: "refused with 403")
                let allowed = try await Self.page("https://app.example", place, bench)
                try await allowed.output.wait(forLine: #"{"event":"room""#)
            }
        }

        /// What a web page does that joins the chat: it cannot choose its origin.
        private static func page(_ origin: String, _ place: String, _ bench: Bench) async throws -> Child {
            let script = """
                import sys
                from websockets.exceptions import InvalidStatus
                from websockets.sync.client import connect
                try:
                    with connect(sys.argv[1], origin=sys.argv[2]) as page:
                        page.send('{"auth":{"name":"ann","rooms":["lobby"]}}')
                        print(page.recv(), flush=True)
                except InvalidStatus as error:
                    print("refused with", error.response.status_code, flush=True)
                """
            return try await bench.start("page", [try Place.python(), "-c", script, "ws://\(place)", origin])
        }

        @Test
        func `a port in use is reported in one line`() async throws {
            try await Bench.run { bench in
                let (_, place) = try await Self.serve(on: bench)
                let port = try #require(place.split(separator: ":").last)
                let second = try await bench.runChat(["serve", "--port", String(port)])
                #expect(second.status == 1)
                #expect(second.errors.count == 1)
            }
        }
    }
}

extension Chat {
    /// The pages in a real browser; the scenarios are in `Tests/Browser/scenarios.py`.
    @Suite
    struct BrowserTests {
        @Test(.timeLimit(.minutes(5)), arguments: ["inspector", "foreign", "chat"])
        func `a page does in a browser what its scenario says`(scenario: String) async throws {
            try await Bench.run { bench in
                let script = "\(Place.root)/Tests/Browser/scenarios.py"
                let child = try await bench.start(
                    scenario,
                    [
                        try Place.python(), "-c", ChatServer.guardian, script, "--chat", try Place.program("chat"),
                        "--tool", try Place.program("linkspan"), scenario,
                    ])
                let status = try await child.exit(within: .seconds(240))
                let output = try await child.output.all() + child.errors.all()
                #expect(status == 0, "\(output.joined(separator: "\n"))")
                #expect(output.contains { $0.hasPrefix("browser: \(scenario): ") })
            }
        }
    }
}
