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
                var rest = try await chat.output.all()[...]
                for milestone in milestones + summary {
                    let found = rest.firstIndex { $0.contains(milestone) }
                    let index = try #require(found, "'\(milestone)' is not in \(rest)")
                    rest = rest[(index + 1)...]
                }
                #expect(await chat.complaints == [])
            }
        }
    }
}
