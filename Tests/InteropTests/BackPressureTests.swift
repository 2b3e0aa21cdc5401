internal import TestSupport
internal import Linkspan
internal import Testing

extension Interop {
    /// Servers that do not read for a while.
    @Suite(.overBackEnds) struct BackPressureTests {
        @Test(arguments: [ServerKind.aiohttp, .uvicorn, .webSocket])
        func `messages wait while the server hangs, and arrive in order later`(_ kind: ServerKind) async throws {
            let (count, pad) = (200, String(repeating: "x", count: 100_000))
            try await withServer(kind) { server in
                try await Bench.use { bench in
                    let client =
                        kind == .webSocket
                        ? try await bench.webSocket(server) { $0.buffer.bytes = 64 << 20 }
                        : try await bench.socketIO(server) { $0.buffer.bytes = 64 << 20 }
                    try await client.settle()
                    server.pause()
                    // 20 MB: far more than the sockets and the stream's own buffer hold.
                    for number in 0..<count { try client.handler.send("echo", number, pad) }
                    #expect(client.handler.status.waitingCommands > 0)
                    server.resume()
                    #expect(try await client.values("echo", count: count, as: Int.self) == Array(0..<count))
                    try await client.settle()
                    #expect(client.messages.entries.count == count)
                    #expect(client.states.entries.map(\.to) == [.connected])
                    #expect(client.handler.status.waitingCommands == 0)
                }
            }
        }

        @Test
        func `a message that does not fit into what may wait is refused, and the connection goes on`() async throws {
            try await withServer(.aiohttp) { server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server) { $0.buffer.bytes = 1 << 20 }
                    try await client.settle()
                    server.pause()
                    let pad = String(repeating: "x", count: 100_000)
                    var accepted = 0
                    let error = #expect(throws: LinkspanError.self) {
                        // Bounded, lest nothing be refused.
                        for number in 0..<1_000 {
                            try client.handler.send("echo", number, pad)
                            accepted += 1
                        }
                    }
                    #expect(error?.code == .bufferFull)
                    #expect(error?.certainty == .notSent)
                    server.resume()
                    #expect(try await client.values("echo", count: accepted, as: Int.self) == Array(0..<accepted))
                    try await client.settle()
                    #expect(client.messages.entries.count == accepted)
                }
            }
        }
    }
}
