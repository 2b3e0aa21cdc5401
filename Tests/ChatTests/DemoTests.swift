internal import TestedPrograms
internal import Testing

extension Chat {
    @Suite
    struct DemoTests {
        @Test(.timeLimit(.minutes(2)))
        func `the demo loses its link on every wire, delivers everything and ends by itself`() async throws {
            try await Bench.run { bench in
                let chat = try await bench.chat(["demo"])
                #expect(try await chat.exit(within: .seconds(60)) == 0)
                let wires = ["memory", "Socket.IO, WebSocket", "Socket.IO, long polling", "raw WebSocket"]
                let milestones = wires.flatMap { wire in
                    [
                        "ann: connected over \(wire)", "bob's screen   ann: hello bob",
                        "ann's screen   bob: loud and clear", "ann: connection lost",
                        "ann types      typed offline, line 3", "ann: connected over \(wire)",
                        "bob's screen   ann: typed offline, line 3",
                    ]
                }
                let killed = [
                    "ann's process  * kept: typed before kill -9, line 3", "kill -9 of ann's chat",
                    "bob's screen   ann: typed before kill -9, line 3",
                ]
                let summary =
                    killed + wires + [
                        "outbox, after kill -9", "27 lines were typed while the link was down; 27 arrived",
                    ]
                let lines = try await chat.output.all()
                // A blank line stands before each sentence of the tour, and nowhere else.
                #expect(lines.first?.isEmpty == false && lines.last?.isEmpty == false)
                for (line, next) in zip(lines, lines.dropFirst()) {
                    let isSentence = !next.isEmpty && !next.hasPrefix("  ") && !next.hasPrefix("* ")
                    #expect(line.isEmpty == isSentence, "'\(next)' follows '\(line)'")
                }
                var rest = lines[...]
                for milestone in milestones + summary {
                    let found = rest.firstIndex { $0.contains(milestone) }
                    let index = try #require(found, "'\(milestone)' is not in \(rest)")
                    rest = rest[(index + 1)...]
                }
                #expect(await chat.complaints == [])
            }
        }

        @Test(arguments: [0, 3])
        func `the progress of a build is steps, without the package manager's lines but for a failure`(status: Int)
            async throws
        {
            try await Bench.run { bench in
                let build = """
                    echo Fetching https://example.org/package
                    for step in $(seq 40); do echo "[$step/40] Compiling Module file.swift"; done
                    echo file.swift:3:4: the compiler has words
                    exit \(status)
                    """
                let child = try await bench.start(
                    "progress", ["\(Place.root)/.ci/progress", "Building", "bash", "-c", build])
                #expect(try await child.exit() == status)
                let output = try await child.output.all()
                let steps = stride(from: 4, through: 40, by: 4).map { "Building: \($0) of 40 steps" }
                #expect(Array(output.dropFirst().prefix(10)) == steps)
                #expect(output.count == (status == 0 ? 12 : 11), "\(output)")
                let errors = try await child.errors.all()
                #expect(errors.contains("file.swift:3:4: the compiler has words") == (status != 0))
                #expect(!(output + errors).contains { $0.hasPrefix("[") })
            }
        }
    }
}
