internal import TestSupport
internal import Linkspan
internal import LinkspanSocketIO
internal import Testing

extension Interop {
    /// Networks and servers that do not let every carrier through.
    @Suite(.overBackEnds) struct FallbackTests {
        private static func use(
            _ carriers: SocketIOCarriers, _ arguments: [String] = ["--polling-only"],
            _ body: @Sendable (Client, Bench, PythonServer) async throws -> Void
        ) async throws {
            try await withServer(.aiohttp, arguments) { server in
                try await Wire.$current.withValue(Wire(carriers: carriers, network: Wire.current.network)) {
                    try await Bench.use { bench in
                        try await body(try await bench.socketIO(server), bench, server)
                    }
                }
            }
        }

        @Test
        func `without WebSocket support polling is used within the same attempt`() async throws {
            try await Self.use(.fallback) { client, _, server in
                try await client.connected()
                #expect(client.states.entries.count == 1, "there was no failed attempt")
                #expect(try await client.handler.request("req", 1).decode(Int.self) == 1)
                try await server.restart()
                try await client.connected(times: 2)
                try await client.settle()
            }
        }

        @Test(arguments: [[], ["--ping-interval", "20"]])
        func `a WebSocket that can be had is had`(_ arguments: [String]) async throws {
            try await Self.use(.fallback, arguments) { client, _, _ in
                try await client.connected()
                #expect(try await client.handler.request("carrier").decode(String.self) == "websocket")
            }
        }

        @Test
        func `without fallback the refusal is reported`() async throws {
            try await Self.use(.webSocket) { client, _, _ in
                let error = try await client.lost().error
                #expect(error?.code == .refused)
            }
        }

        @Test(arguments: [true, false])
        func `an upgrade comes about where it is offered, and polling goes on where it is not`(isOffered: Bool)
            async throws
        {
            try await Self.use(.upgrade, isOffered ? [] : ["--polling-only"]) { client, _, _ in
                try await client.connected()
                // Whatever comes of it, it must not disturb what is sent meanwhile.
                var carrier = ""
                for number in 0..<100 where carrier != "websocket" {
                    #expect(try await client.handler.request("req", number).decode(Int.self) == number)
                    carrier = try await client.handler.request("carrier").decode(String.self)
                }
                #expect(carrier == (isOffered ? "websocket" : "polling"))
                #expect(client.handler.status.link?.facts["carrier"] == carrier)
                #expect(client.states.entries.count == 1)
            }
        }

        @Test
        func `nothing is lost or reordered by an upgrade in the middle of a stream`() async throws {
            try await Self.use(.upgrade, []) { client, _, _ in
                let flood = client.handler
                for number in 0..<900 { try flood.send("echo", number) }
                let answer = try await flood.request("flood", ["n": 1000]).decode(Int.self)
                #expect(answer == 1000)
                #expect(try await client.values("echo", count: 900, as: Int.self) == Array(0..<900))
                let items = try await client.received("item", count: 1000).map { $0.payload[0]?["id"]?.int }
                #expect(items == Array(0..<1000))
                #expect(client.states.entries.count == 1)
            }
        }
    }
}
