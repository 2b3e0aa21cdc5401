internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanSocketIO
internal import Testing

extension Interop {
    /// Messages at the limit that the server names.
    @Suite(.overEachWire) struct SizeTests {
        @Test
        func `a message too large in base64 is refused over polling before it is sent, and delivered over a WebSocket`()
            async throws
        {
            try await withServer(.aiohttp) { server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server)
                    try await client.settle()
                    let blob = Data(repeating: 7, count: 13_000_000)
                    do throws(LinkspanError) {
                        _ = try await client.handler.deliver("req", blob)
                        #expect(Wire.current.carriers != .polling)
                    } catch {
                        #expect(Wire.current.carriers == .polling)
                        #expect(error.code == .messageTooLarge)
                        #expect(error.certainty == .notSent)
                        #expect(error.message.contains("16777216"), "it says the limit")
                    }
                    // The connection is none the worse for it.
                    _ = try await client.handler.request("req", "small")
                    #expect(client.states.entries.map(\.to) == [.connected])
                }
            }
        }

        @Test
        func `messages that are larger together than one may be arrive all the same`() async throws {
            try await withServer(.aiohttp) { server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server)
                    // 30 MB, which the server sends in one answer to a poll; a message may have 16 MiB.
                    _ = try await client.handler.request("flood", ["n": 30, "bytes": 1_000_000], timeout: .seconds(60))
                    try await client.received("item", count: 30)
                    #expect(client.states.entries.map(\.to) == [.connected])
                }
            }
        }
    }
}
