internal import TestedPrograms
internal import Testing

extension Chat {
    @Suite
    struct RefusalTests {
        private static let me = ["join", "--name", "ann"]

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                (["--transport", "memroy"], ["'memroy'", "memory", "socketio", "websocket"]),
                (["--transport", "socketio", "--url", "nonsense"], ["url", "http://"]),
                (["--transport", "socketio", "--url", "ftp://127.0.0.1"], ["ftp", "http://"]),
                (["--transport", "websocket", "--url", "ws://127.0.0.1:99999"], ["url"]),
                (["--transport", "socketio"], ["url is missing", "--url http://"]),
                (["--bogus"], ["--bogus"]),
                (["surplus"], ["surplus"]),
                (["--drain", "x"], ["--drain"]),
                (["--drain", "-1"], ["--drain"]),
                (["--drain", "nan"], ["--drain"]),
                (["--config", "/nowhere/chat.yaml"], ["/nowhere/chat.yaml"]),
            ])
        func `a mistake in the arguments is told on standard error, with status 64`(flags: [String], words: [String])
            async throws
        {
            try await Bench.run { bench in
                Self.expectRefusal(try await bench.runChat(Self.me + flags), words, status: 64)
            }
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                (["jion", "--name", "ann"], "unknown command 'jion' (did you mean join?)"),
                (["dance"], "unknown command 'dance'; the commands are demo, join, serve"),
            ])
        func `a mistyped command is one sentence with what to do, and status 64`(words: [String], start: String)
            async throws
        {
            try await Bench.run { bench in
                let ended = try await bench.runChat(words)
                #expect(ended.status == 64 && ended.errors.count == 1)
                #expect(ended.errors.first?.hasPrefix("chat: \(start)") == true, "\(ended.errors)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a flag that does not exist is told with the usage of the command`() async throws {
            try await Bench.run { bench in
                let ended = try await bench.runChat(Self.me + ["--bogus"])
                #expect(ended.status == 64 && ended.output == [])
                #expect(ended.errors.first == "chat: Unknown option '--bogus'")
                #expect(ended.errors.dropFirst().first?.hasPrefix("Usage: chat join --name <name>") == true)
                #expect(ended.errors.last == "  See 'chat join --help' for more information.")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a name is needed, and one that can be a name`() async throws {
            try await Bench.run { bench in
                Self.expectRefusal(try await bench.runChat(["join"]), ["--name"], status: 64)
            }
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                ("broken.yaml", "linkspan:\n  transport: [oops\n"), ("broken.json", #"{"linkspan": {"#),
                ("list.yaml", "- linkspan\n"),
                ("adapter.yaml", "linkspan:\n  transport:\n    adapter: carrier-pigeon\n"),
                ("service.json", #"{"linkspan": {"services": {"enabled": ["loging"]}}}"#),
                ("option.yaml", "linkspan:\n  services:\n    logging:\n      levle: info\n"),
            ])
        func `a broken file is one line on standard error and status 64`(name: String, text: String) async throws {
            try await Bench.run { bench in
                let path = try bench.file(name, text)
                Self.expectRefusal(try await bench.runChat(Self.me + ["--config", path]), [name], status: 64)
            }
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                ("LINKSPAN_TRANSPORT_ADAPTER", "sockeio", ["memory", "socketio", "websocket"]),
                ("LINKSPAN_SERVICES_ENABLED", "loging", ["logging"]),
            ])
        func `unknown names in the environment are refused, with the known ones`(
            variable: String, value: String, known: [String]
        ) async throws {
            try await Bench.run { bench in
                let ended = try await bench.runChat(Self.me, environment: [variable: value])
                Self.expectRefusal(ended, ["'\(value)'", variable] + known, status: 64)
            }
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [Wire.socketio, .websocket])
        func `a server that refuses ends the chat with its reason and status 1`(wire: Wire) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench, ["--refuse"])
                let chat = try await bench.chat(Self.me + (await server.arguments(for: wire)))
                let status = try await chat.exit()
                let ended = Ended(
                    status: status, output: await chat.output.lines, errors: await chat.errors.lines)
                Self.expectRefusal(ended, ["the chat is closed"], status: 1)
            }
        }

        private static func expectRefusal(_ ended: Ended, _ words: [String], status: Int) {
            #expect(ended.status == status, "\(ended)")
            // Behind the mistake there is only how the command is used.
            #expect(ended.errors.dropFirst().isEmpty || ended.errors[1].hasPrefix("Usage: chat join"), "\(ended)")
            for word in words {
                #expect(ended.errors.first?.contains(word) == true, "'\(word)' is not in \(ended.errors)")
            }
        }
    }
}
