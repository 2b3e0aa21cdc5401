internal import TestedPrograms
internal import Testing

@testable internal import chat

extension Chat {
    @Suite
    struct ConfigurationTests {
        private static let me = ["join", "--name", "ann"]

        @Test(.timeLimit(.minutes(2)))
        func `the chat needs nothing to run in memory`() async throws {
            try await Bench.run { bench in
                for flags in [[], ["--transport", "memory"]] {
                    let news = try await Self.visit(bench, Self.me + flags)
                    #expect(news == "* connected over memory")
                }
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `flags choose the transport`() async throws {
            try await Self.expectConnection { wire, url, bench in
                try await Self.visit(bench, Self.me + ["--transport", wire, "--url", url])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a file in YAML chooses the transport`() async throws {
            try await Self.expectConnection { wire, url, bench in
                let text = "linkspan:\n  transport:\n    adapter: \(wire)\n    \(wire):\n      url: \(url)\n"
                return try await Self.visit(bench, Self.me + ["--config", try bench.file("chat.yaml", text)])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a file in JSON chooses the transport`() async throws {
            try await Self.expectConnection { wire, url, bench in
                let text = #"{"linkspan": {"transport": {"adapter": "\#(wire)", "\#(wire)": {"url": "\#(url)"}}}}"#
                return try await Self.visit(bench, Self.me + ["--config", try bench.file("chat.json", text)])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `the environment chooses the transport, and flags override it`() async throws {
            try await Self.expectConnection { wire, url, bench in
                let environment = [
                    "LINKSPAN_TRANSPORT_ADAPTER": wire, "LINKSPAN_TRANSPORT_\(wire.uppercased())_URL": url,
                ]
                let overridden = try await Self.visit(
                    bench, Self.me + ["--transport", "memory"], environment: environment)
                #expect(overridden == "* connected over memory")
                return try await Self.visit(bench, Self.me, environment: environment)
            }
        }

        /// Runs the chat until it is connected, and returns what it says of that.
        private static func visit(
            _ bench: Bench, _ arguments: [String], environment: [String: String] = [:]
        ) async throws -> String {
            let chat = try await bench.chat(arguments, environment: environment)
            let lines = try await chat.output.wait(forLine: "* connected")
            try chat.endInput()
            #expect(try await chat.exit() == 0)
            #expect(await chat.complaints == [])
            return lines[0]
        }

        private static func expectConnection(
            _ run: @escaping @Sendable (_ wire: String, _ url: String, _ bench: Bench) async throws -> String
        ) async throws {
            try await Bench.run { bench in
                let server = try await ChatServer.start(on: bench)
                for wire in [Wire.socketio, .websocket] {
                    let url = await server.url(for: wire)
                    let news = try await run("\(wire)", url, bench)
                    #expect(news == "* connected over \(wire)")
                }
            }
        }
    }
}

extension Chat {
    @Suite
    struct UserFileTests {
        @Test
        func `the file is looked for where the system keeps such files`() {
            let first = { (environment: [String: String]) in UserFile(environment: environment).candidates.first }
            #expect(first(["HOME": "/home/ann"]) == "/home/ann/.config/linkspan-chat/chat.yaml")
            #expect(first(["HOME": "/home/ann", "XDG_CONFIG_HOME": "/c"]) == "/c/linkspan-chat/chat.yaml")
            // Relative paths do not count, says the specification.
            let relative = ["HOME": "/home/ann", "XDG_CONFIG_HOME": "c"]
            #expect(first(relative) == "/home/ann/.config/linkspan-chat/chat.yaml")
            let system = UserFile(environment: ["XDG_CONFIG_DIRS": "/a:b:/c"]).candidates
            #expect(
                system.filter { $0.hasSuffix("/chat.yaml") } == [
                    "/a/linkspan-chat/chat.yaml", "/c/linkspan-chat/chat.yaml",
                ])
        }

        @Test(.timeLimit(.minutes(2)))
        func `a file in its place is read without a flag, and --config names another one`() async throws {
            try await Bench.run { bench in
                let text = "linkspan: { transport: { adapter: memory, memory: { url: \"memory://mine\" } } }\n"
                _ = try await bench.start("mkdir", ["/bin/mkdir", "-p", "\(bench.folder)/linkspan-chat"]).exit()
                let path = try bench.file(
                    "linkspan-chat/chat.yaml", text.replacing("adapter: memory", with: "adapter: pigeon"))
                let environment = ["XDG_CONFIG_HOME": bench.folder]
                let own = try await bench.runChat(["join", "--name", "ann"], environment: environment)
                #expect(own.errors.contains { $0.contains("'pigeon'") && $0.contains(path) }, "\(own)")
                let other = try bench.file("other.yaml", text)
                let flags = ["join", "--name", "ann", "--config", other]
                let named = try await bench.runChat(flags, environment: environment)
                #expect(named.output.contains("* connected over memory"), "\(named)")
            }
        }
    }
}
