internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanSocketIO
internal import Testing

extension Interop {
    /// Servers of Socket.IO 2.x, spoken to in their own version and met by accident.
    @Suite(.overEachWire) struct LegacyTests {
        private static let version2 = SocketIOConfiguration { $0.protocol = .v2 }

        @Test
        func `events, replies, questions and attachments go both ways`() async throws {
            let server = try await SharedServers.server(.legacy)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server, configuration: Self.version2)
                let info = try await client.connected()
                #expect(info.facts["protocol"] == "Socket.IO v4")
                #expect(info.sessionID?.isEmpty == false)
                #expect(try await client.values("hello", as: String.self) == ["/"])
                #expect(try await client.handler.request("req", "é😀").decode(String.self) == "é😀")
                let blob = Data([0, 1, 2, 255])
                try client.handler.send("echo", blob)
                #expect(try await client.values("echo", as: Data.self) == [blob])
                try client.handler.on("question") { try? $0.reply("yes") }
                try client.handler.send("ask", "well?")
                #expect(try await client.values("answered", as: String.self) == ["yes"])
                let count = try await client.handler.request("flood", 500).decode(Int.self)
                #expect(count == 500)
                #expect(try await client.values("item", count: 500, as: Int.self) == Array(0..<500))
            }
        }

        @Test
        func `namespaces share the connection, and a refused one does not disturb the other`() async throws {
            let server = try await SharedServers.server(.legacy)
            try await Bench.use { bench in
                let chat = try await bench.socketIO(server, "/chat", configuration: Self.version2)
                #expect(try await chat.connected().sessionID?.hasPrefix("/chat#") == true)
                let refused = try await bench.socketIO(server, "/auth", configuration: Self.version2)
                #expect(try await refused.lost().error?.code == .credentialsRefused)
                let main = try await bench.socketIO(server, "/", configuration: Self.version2)
                try await main.connected()
                try await chat.settle()
                try await main.settle()
            }
        }

        @Test
        func `a quiet connection is kept by our pings`() async throws {
            try await withServer(.legacy, ["--ping-interval", "1", "--ping-timeout", "3"]) { server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server, configuration: Self.version2)
                    try await client.connected()
                    // More than the server bears without a ping; there is nothing else to wait for.
                    try await ContinuousClock().sleep(for: .seconds(4))
                    try await client.settle()
                    #expect(client.states.entries.count == 1, "\(client.states.entries.map(\.reason))")
                }
            }
        }

        @Test
        func `the wrong version is recognised, and what to do is said`() async throws {
            let server = try await SharedServers.server(.legacy)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                let error = try #require(try await client.lost().error)
                // In place of a WebSocket the server says no more than 400.
                let expected: LinkspanError.Code = Wire.current.carriers == .webSocket ? .refused : .unsupportedVersion
                #expect(error.code == expected)
                if expected == .unsupportedVersion { #expect(error.message.contains("v2")) }
            }
            let modern = try await SharedServers.server(.aiohttp)
            try await Bench.use { bench in
                let client = try await bench.socketIO(modern, configuration: Self.version2)
                let error = try #require(try await client.lost().error)
                #expect([.refused, .unsupportedVersion].contains(error.code))
            }
        }

        @Test
        func `a lost server is found again`() async throws {
            try await withServer(.legacy) { server in
                try await Bench.use { bench in
                    let client = try await bench.socketIO(server, configuration: Self.version2)
                    try await client.connected()
                    try await server.restart()
                    try await client.connected(times: 2)
                    try await client.settle()
                }
            }
        }
    }
}
