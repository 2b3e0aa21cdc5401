internal import Foundation
internal import Linkspan
internal import Testing

extension Interop {
    /// Servers that share what they know through Redis, and servers on green threads.
    @Suite(.overEachCarrier) struct ClusterTests {
        @Test
        func `an event of one server reaches clients of the other`() async throws {
            try await RedisServer.use { redis in
                try await withServer(.aiohttp, ["--redis", redis.url]) { first in
                    try await withServer(.uvicorn, ["--redis", redis.url]) { second in
                        try await Bench.use { bench in
                            let ann = try await bench.socketIO(first, "/chat")
                            let bob = try await bench.socketIO(second, "/chat")
                            try await ann.settle()
                            try await bob.settle()
                            // A server that has answered may still be on its way to Redis.
                            try await redis.subscribed(2, to: "socketio")
                            for number in 0..<50 { try ann.handler.send("everyone", number) }
                            for client in [ann, bob] {
                                let heard = try await client.values("everyone", count: 50, as: Int.self)
                                #expect(heard == Array(0..<50))
                            }
                        }
                    }
                }
            }
        }

        @Test(arguments: ServerKind.green)
        func `servers on green threads: events, replies, attachments, an end and a new beginning`(_ kind: ServerKind)
            async throws
        {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                try await client.connected()
                #expect(try await client.handler.request("req", "é😀").decode(String.self) == "é😀")
                let blob = Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
                try client.handler.send("echo", blob)
                #expect(try await client.values("echo", as: Data.self) == [blob])
                let sent = try await client.handler.request("flood", ["n": 300]).decode(Int.self)
                #expect(sent == 300)
                try await client.received("item", count: 300)
                try client.handler.send("kill_engine")
                try await client.connected(times: 2)
                try await client.settle()
            }
        }
    }
}
