internal import Foundation
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
                (["help", "doctr"], "unknown command 'doctr' (did you mean doctor?)"),
                (["help", "config", "chek"], "unknown command 'chek' (did you mean check?)"),
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
                (["probe", "http://x", "--timeout", "-0.1"], "--timeout has to be a number of seconds from 0.001 to"),
            ])
        func `a negative number is refused with the range of its flag`(words: [String], sentence: String) async throws {
            try await Bench.run { bench in
                let ended = try await bench.runTool(words)
                #expect(ended.status == 64 && ended.errors.first?.contains(sentence) == true, "\(ended)")
            }
        }

        @Test(
            .timeLimit(.minutes(2)),
            arguments: [
                (["doctor", "http://ann:pw@127.0.0.1:1"], "pass them by --header 'Authorization: Basic …'"),
                (["doctor", "http://bücher.example"], "outside ASCII; write that with %, in a host as xn--"),
                (["doctor", "http://fe80::1/"], "an IPv6 address has [ ]"),
                (["doctor", "http://127.0.0.1:70000"], "the port is not a number from 1 to 65535"),
                (["doctor", "http://x", "-H", "Host: y"], "--header cannot be Host: the client sets it"),
                (["doctor", "ws://x", "-H", "Sec-WebSocket-Version: 8"], "--header cannot be Sec-WebSocket-Version"),
                (["doctor", "ws://x", "-H", "Sec-WebSocket-Protocol: y"], "pass its value by --subprotocol"),
                (["doctor", "http://x", "--network", "curl"], "--network has to be libwebsockets or nio, not 'curl'"),
                (["probe", "http://127.0.0.1:1", "-x", #"say {"a""#], "a quote or a bracket is not closed"),
                (["probe", "http://127.0.0.1:1", "--record", "/none/a"], "/none is no folder that can be written to"),
                (["probe", "http://127.0.0.1:1", "--record", "/"], "cannot be written to /: it is a folder"),
                (["probe", "http://127.0.0.1:1", "--replay", "/"], "/ cannot be read: it is a folder"),
                (["probe", "http://127.0.0.1:1", "--timeout", "0"], "--timeout has to be a number of seconds from"),
                (["probe", "http://127.0.0.1:1", "--pin", "sha1/abc"], "'sha1/abc' is no pin: sha256/ and 44"),
                (["load", "http://x", "--scenario", "/"], "/ cannot be read: it is a folder"),
                (["load", "http://x", "--scenario", "/none"], "/none cannot be read: No such file or directory"),
                (["load", "http://x", "--scenario", "/dev/null"], "/dev/null is empty"),
                (["load", "http://x", "--scenario", "/dev/zero"], "/dev/zero is larger than 64 MiB"),
                (["proxy", "127.0.0.1:70000", "127.0.0.1:1"], "of LISTEN has to be from 0 to 65535, not 70000"),
                (["proxy", "127.0.0.1:0", "127.0.0.1:0"], "the port of TARGET has to be from 1 to 65535, not 0"),
            ])
        func `an argument that cannot be used is refused before anything is done, with what to write`(
            words: [String], sentence: String
        ) async throws {
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
        func `the version is the newest one with a date in the change log`() async throws {
            let changes = try String(contentsOfFile: "\(Place.root)/CHANGELOG.md", encoding: .utf8)
            let newest = try #require(changes.firstMatch(of: #/\n## \[([0-9.]+)\] - \d/#)?.1)
            try await Bench.run { bench in
                let ended = try await bench.runTool(["--version"])
                #expect(ended.status == 0 && ended.output == [String(newest)] && ended.errors == [], "\(ended)")
                let command = try await bench.runTool(["probe", "--version", "v4", "http://127.0.0.1:1", "-x", "a"])
                #expect(command.status == 69, "the flag of a command is another one: \(command)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a closed standard output is taken by no file of the program`() async throws {
            try await Bench.run { bench in
                let script = #""$0" load http://127.0.0.1:1 --scenario /dev/fd/1 >&-"#
                let child = try await bench.start("sh", ["/bin/sh", "-c", script, try Place.program("linkspan")])
                #expect(try await child.exit() == 64)
                // What is there is the null device.
                let errors = try await child.errors.all()
                #expect(errors == ["linkspan: /dev/fd/1 is empty"])
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `a reader that goes ends a program that prints on`() async throws {
            try await Bench.run { bench in
                let script = #""$0" proxy 127.0.0.1:0 127.0.0.1:1 --json | head -1"#
                let child = try await bench.start("sh", ["/bin/sh", "-c", script, try Place.program("linkspan")])
                #expect(try await child.exit() == 0)
                #expect(try await child.output.all().count == 1)
            }
        }

        @Test(
            .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")), .timeLimit(.minutes(2)),
            arguments: [
                "--help", "--version", "completion bash", "config plan --url ws://127.0.0.1:1",
                "doctor http://127.0.0.1:1", "doctor http://127.0.0.1:1 --json",
                "load http://127.0.0.1:1 --clients 1 --emit a", "proxy 127.0.0.1:0 127.0.0.1:1 --json",
            ])
        func `a full disk behind standard output ends the program with an error that names it`(words: String)
            async throws
        {
            try await Bench.run { bench in
                let script = #""$0" \#(words) > /dev/full"#
                let child = try await bench.start("sh", ["/bin/sh", "-c", script, try Place.program("linkspan")])
                #expect(try await child.exit() == 74)
                let (errors, reason) = (try await child.errors.all(), "No space left on device")
                #expect(errors.contains("linkspan: standard output cannot be written: \(reason)"), "\(errors)")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `Ctrl-C ends a proxy with its last state`() async throws {
            try await Bench.run { bench in
                let proxy = try await bench.tool(["proxy", "127.0.0.1:0", "127.0.0.1:1", "--json"])
                try await proxy.output.wait(forLine: #"{"bytes":0"#)
                proxy.interrupt()
                #expect(try await proxy.exit() == 0)
                let states = try await proxy.output.all()
                #expect(states.count > 1 && states.last?.contains(#""connections":0"#) == true, "\(states)")
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
