internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanSocketIO
internal import Testing

extension Interop {
    /// Packets in a form of the app's choice, which the server has to share.
    @Suite(.overEachWire) struct CodecTests {
        private static let configuration = SocketIOConfiguration { $0.codec = MessagePackCodec() }

        @Test(arguments: ServerKind.asyncio)
        func `MessagePack: events, replies, questions, attachments and a refusal`(_ kind: ServerKind) async throws {
            try await withServer(kind, ["--serializer", "msgpack"]) { server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server, "/chat", configuration: Self.configuration)
                    try await client.connected()
                    #expect(try await client.handler.request("req", "é😀").decode(String.self) == "é😀")
                    let values = try Payload(["a": [1, -70_000, 5_000_000_000]], 1.5, true, [String: Int]())
                    try client.handler.perform(Command(.send, event: "echo", payload: values))
                    let echoed = try #require(try await client.received("echo").first).payload
                    #expect(try echoed.decode([String: [Int]].self) == ["a": [1, -70_000, 5_000_000_000]])
                    #expect(try echoed.decode(Double.self, at: 1) == 1.5)
                    #expect(try echoed.decode(Bool.self, at: 2))
                    let size = kind.takesMediumMessages ? 70_000 : 7_000
                    let blob = Data((0..<size).map { UInt8(truncatingIfNeeded: $0) })
                    #expect(
                        try await client.handler.request("req", ["blob": blob]).decode([String: Data].self) == [
                            "blob": blob
                        ])
                    try client.handler.on("question") { try? $0.reply("yes", blob) }
                    try client.handler.send("ask", "well?")
                    #expect(try await client.values("answered", as: String.self) == ["yes"])
                    let refused = try await bench.socketIO(server, "/auth", configuration: Self.configuration)
                    #expect(try await refused.lost().error?.code == .credentialsRefused)
                    try await client.settle()
                    #expect(client.states.entries.count == 1)
                }
            }
        }

        @Test
        func `a server with another codec differs from a lost one`() async throws {
            let server = try await SharedServers.server(.aiohttp)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server, configuration: Self.configuration) {
                    $0.openDeadline = .seconds(1)
                }
                let reason = try await client.lost()
                #expect([.protocolViolation, .timedOut, .connectionLost].contains(try #require(reason.error).code))
            }
        }
    }
}
