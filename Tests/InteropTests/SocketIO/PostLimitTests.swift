internal import Linkspan
internal import TestSupport
internal import Testing

extension Interop {
    /// Servers behind something that takes no large POSTs.
    @Suite(.overEachWire) struct PostLimitTests {
        @Test
        func `messages that do not fit into one POST arrive all, in order`() async throws {
            try await withServer(.uvicorn, ["--post-limit", "250000"]) { server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server)
                    try await client.connected()
                    for number in 0..<40 {
                        try client.handler.send("echo", number, String(repeating: "x", count: 100_000))
                    }
                    let numbers = try await client.received("echo", count: 40).map { $0.payload[0]?.int }
                    #expect(numbers == Array(0..<40))
                    #expect(client.states.entries.filter { $0.to == .disconnected }.isEmpty)
                }
            }
        }
    }
}
