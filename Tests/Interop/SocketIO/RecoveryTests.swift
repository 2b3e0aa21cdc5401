internal import Linkspan
internal import LinkspanSocketIO
internal import Testing

extension Interop {
    /// Sessions that go on over another link, against a server that does what the reference does.
    @Suite(.overEachWire) struct RecoveryTests {
        /// Runs a test against the shared server, whose sessions stay apart.
        private static func use(_ body: (PythonServer, Bench) async throws -> Void) async throws {
            let server = try await SharedServers.server(.recovery)
            try await Bench.use { bench in try await body(server, bench) }
        }

        @Test("what was missed comes, in order and once, and nothing else is told of the loss than that it is over")
        func resumes() async throws {
            try await Self.use { server, bench in
                let client = try await bench.socketIO(server)
                let first = try await client.connected()
                #expect(!first.isContinuous)
                try client.handler.send("say", 1)
                try await client.received("said")
                try client.handler.send("cut", 2, 5)
                let second = try await client.connected(times: 2)
                #expect(second.isContinuous)
                #expect(second.sessionID == first.sessionID)
                let link = try #require(client.handler.status.link)
                #expect(link.sessionID == first.sessionID)
                #expect(link.isContinuous)
                #expect(Wire.current.carrierNames.contains(link.facts["carrier"] ?? ""))
                try client.handler.send("say", 7)
                #expect(try await client.values("said", count: 7, as: Int.self) == Array(1...7))
            }
        }

        @Test("a volatile event that ends in a text does not spoil the recovery (S44)")
        func volatile() async throws {
            try await Self.use { server, bench in
                let client = try await bench.socketIO(server)
                try await client.connected()
                try client.handler.send("say", 1)
                try client.handler.send("say", 2)
                try client.handler.send("mutter", "vvv")
                try client.handler.send("mutter", "Welcome")
                try await client.received("muttered", count: 2)
                try client.handler.send("cut", 3, 1)
                #expect(try await client.connected(times: 2).isContinuous)
                #expect(try await client.values("said", count: 3, as: Int.self) == [1, 2, 3])
            }
        }

        @Test("without an event there is nothing to resume from, and the loss is told (S43)")
        func nothingToResume() async throws {
            try await Self.use { server, bench in
                let client = try await bench.socketIO(server)
                let first = try await client.connected()
                #expect(client.handler.status.resumption == nil)
                try client.handler.send("cut", 1, 1)
                let second = try await client.connected(times: 2)
                #expect(!second.isContinuous)
                #expect(second.sessionID != first.sessionID)
            }
        }

        @Test("a server that has forgotten begins anew, and the next loss is resumed again")
        func forgotten() async throws {
            try await withServer(.recovery) { server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server)
                    try await client.connected()
                    try client.handler.send("say", 1)
                    try await client.received("said")
                    try await server.restart()
                    #expect(try await !client.connected(times: 2).isContinuous)
                    try client.handler.send("say", 2)
                    try await client.received("said", count: 2)
                    try client.handler.send("cut", 3, 1)
                    #expect(try await client.connected(times: 3).isContinuous)
                    #expect(try await client.values("said", count: 3, as: Int.self) == [1, 2, 3])
                }
            }
        }

        @Test("another process goes on with what the first one exported")
        func exported() async throws {
            try await Self.use { server, bench in
                let client = try await bench.socketIO(server)
                let first = try await client.connected()
                try client.handler.send("say", 1)
                try await client.received("said")
                let exported = try #require(client.handler.status.resumption?.exposed)
                // The first process dies: its link is given up without a word.
                try await Bench.use { other in
                    try client.handler.send("cut", 2, 2)
                    try await client.lost()
                    try client.handler.disconnect()
                    let resumption = Secret(exported)
                    let second = try await other.socketIO(server, resuming: resumption)
                    let info = try await second.connected()
                    #expect(info.isContinuous)
                    #expect(info.sessionID == first.sessionID)
                    #expect(try await second.values("said", count: 2, as: Int.self) == [2, 3])
                }
            }
        }

        @Test("who leaves on purpose begins anew (S45)")
        func left() async throws {
            try await Self.use { server, bench in
                let client = try await bench.socketIO(server)
                try await client.connected()
                try client.handler.send("say", 1)
                try await client.received("said")
                try client.handler.disconnect()
                #expect(client.handler.status.resumption == nil)
                try client.handler.connect()
                #expect(try await !client.connected(times: 2).isContinuous)
            }
        }
    }
}
