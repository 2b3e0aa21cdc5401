internal import TestSupport
internal import Linkspan
internal import Testing

extension Interop {
    /// When silence is the end.
    @Suite(.overBackEnds) struct LivenessTests {
        @Test
        func `whatever comes proves that the server lives, a part of a message included, and silence is the end`()
            async throws
        {
            let server = PythonServer("hostile_server.py", ["--attack", "speaking-without-pings"])
            try await server.start()
            try await Bench.use { bench in
                let client = try await bench.socketIO(server) { $0.retry = .never }
                try await client.messages.entries { $0.contains { $0.event == "slow" } }
                #expect(client.states.entries.map(\.to) == [.connected])
                try await server.says("limit")
                let states = try await client.states.first(2)
                #expect(states[1].reason.error?.code == .heartbeatMissed)
            }
            await server.stop()
        }
    }
}
