internal import Testing

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
                    [try Place.python(), "-c", ChatServer.guardian, script, "--chat", try Place.chat(), scenario])
                let status = try await child.exit(within: .seconds(240))
                let output = try await child.output.all() + child.errors.all()
                #expect(status == 0, "\(output.joined(separator: "\n"))")
                #expect(output.contains { $0.hasPrefix("browser: \(scenario): ") })
            }
        }
    }
}
