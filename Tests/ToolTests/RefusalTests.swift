internal import TestedPrograms
internal import Testing

extension Tool {
    @Suite
    struct RefusalTests {
        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                (["prob"], "unknown command 'prob' (did you mean probe?)"),
                (["config", "pths"], "unknown command 'pths'; the commands are check, plan, explain"),
                (["dance"], "unknown command 'dance'; the commands are "),
                (["top", "http://127.0.0.1:1/"], "http://127.0.0.1:1/ is not a URL of an inspector"),
            ])
        func `a mistyped command is one sentence with what to do, and status 64`(words: [String], start: String)
            async throws
        {
            try await Bench.run { bench in
                let ended = try await bench.runTool(words)
                #expect(ended.status == 64 && ended.errors.count == 1)
                #expect(ended.errors.first?.hasPrefix("linkspan: \(start)") == true, "\(ended.errors)")
            }
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                ["load", "http://x", "--timeout", "nan"], ["load", "http://x", "--emit", "a", "--request", "b"],
                ["load", "http://x", "--rate", "5", "--duration", "1"],
                ["load", "http://127.0.0.1:1", "--html", "/none/report.html"],
                ["probe", "http://x", "--replay", "a", "-x", "b"], ["completion", "tcsh"],
            ])
        func `flags that cannot be are refused`(words: [String]) async throws {
            try await Bench.run { bench in
                let ended = try await bench.runTool(words)
                #expect(ended.status == 64 && ended.output == [] && !ended.errors.isEmpty, "\(ended)")
            }
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                (
                    ["load", "http://x", "--emit", "a", "--rate", "-1", "--count", "1"],
                    "rate of step 1 has to be from 0.001"
                ),
                (["load", "http://x", "--clients", "-3"], "clients has to be from 1 to 1000000, not -3"),
                (["doctor", "http://x", "--timeout", "-5"], "--timeout has to be a number of seconds from 1 to 86400"),
            ])
        func `a negative number is refused with the range of its flag`(words: [String], sentence: String) async throws {
            try await Bench.run { bench in
                let ended = try await bench.runTool(words)
                #expect(ended.status == 64 && ended.errors.first?.contains(sentence) == true, "\(ended)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a script of completion knows the commands`() async throws {
            try await Bench.run { bench in
                let ended = try await bench.runTool(["completion", "bash"])
                #expect(ended.status == 0 && ended.output.contains { $0.contains("doctor") }, "\(ended)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `an outbox that is not there is not made`() async throws {
            try await Bench.run { bench in
                let ended = try await bench.runTool(["outbox", "retry", "\(bench.folder)/none", "key"])
                #expect(ended.status == 1 && ended.errors.first?.contains("unable to open") == true, "\(ended)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a failed probe says so once`() async throws {
            try await Bench.run { bench in
                let ended = try await bench.runTool(["probe", "http://127.0.0.1:1", "-x", "a"])
                #expect(ended.status == 69 && ended.errors.count == 1, "\(ended)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `an inspector that is not there or does not know the URL is told with what to do`() async throws {
            try await Bench.run { bench in
                let dead = try await bench.runTool(["top", "--once", "http://127.0.0.1:1/?token=a"])
                #expect(dead.status == 1)
                #expect(dead.errors.first?.contains("127.0.0.1:1") == true)
                let server = try await ChatServer.start(on: bench, [], .forgetful)
                let url = await server.url(for: .socketio)
                let used = try await bench.runTool(["top", "--once", "\(url)/?token=used"])
                #expect(used.status == 1 && used.errors.count == 1, "\(used)")
            }
        }
    }
}
