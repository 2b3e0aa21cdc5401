#if os(Linux)
internal import Foundation
internal import TestedPrograms
internal import Testing

extension Chat {
    /// The README's first program, as somebody would run it who has read nothing else.
    @Suite
    struct FirstStepsTests {
        @Test(
            .timeLimit(.minutes(1)),
            arguments: ["socketio", "websocket", "memory"])
        func `one word in the file chooses the transport, and the service counts`(word: String) async throws {
            try await Bench.run { bench in
                let original = try String(contentsOfFile: Place.root + "/Samples/FirstSteps/app.yaml", encoding: .utf8)
                let changed = original.replacing("adapter: socketio ", with: "adapter: \(word) ")
                #expect(changed != original || word == "socketio")
                _ = try bench.file("app.yaml", changed)
                let program = URL(fileURLWithPath: try Place.program("chat")).deletingLastPathComponent()
                    .appendingPathComponent("first-steps").path
                let ended = try await bench.start("first-steps", ["/usr/bin/env", "-C", bench.folder, program])
                #expect(try await ended.exit() == 0)
                #expect(try await ended.output.all() == ["world over \(word)", "1 message acknowledged"])
                #expect(await ended.complaints == [])
            }
        }

        @Test(.timeLimit(.minutes(1)))
        func `a wrong port is named with its cause, at once in the log and then in the error`() async throws {
            try await Bench.run { bench in
                let original = try String(contentsOfFile: Place.root + "/Samples/FirstSteps/app.yaml", encoding: .utf8)
                let changed = original.replacing("http://127.0.0.1:3010", with: "http://127.0.0.1:1")
                _ = try bench.file("app.yaml", changed + "  connection: { replyTimeout: 1 }\n")
                let program = URL(fileURLWithPath: try Place.program("chat")).deletingLastPathComponent()
                    .appendingPathComponent("first-steps").path
                let ended = try await bench.start("first-steps", ["/usr/bin/env", "-C", bench.folder, program])
                #expect(try await ended.exit() != 0)
                let complaints = await ended.complaints
                let cause = "http://127.0.0.1:1 cannot be reached (connection refused)"
                #expect(complaints.first?.contains("\(cause); attempts go on. Check host and port") == true)
                #expect(complaints.contains { $0.contains("'hello' was not sent within 1 s: \(cause)") })
            }
        }
    }
}
#endif
