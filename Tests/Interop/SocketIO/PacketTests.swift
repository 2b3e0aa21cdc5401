internal import Foundation
internal import Linkspan
internal import Testing

extension Interop {
    /// Each type of packet, in each direction in which clients and servers send it.
    @Suite struct PacketTests {
        @Test("CONNECT is answered with a session id", arguments: ServerKind.socketIO)
        func connects(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                let info = try await client.connected()
                #expect(info.sessionID?.isEmpty == false)
                #expect(info.facts["namespace"] == "/")
                #expect(client.states.entries.map(\.to) == [.connected])
            }
        }

        @Test("an EVENT and its echo keep every kind of JSON value", arguments: ServerKind.socketIO)
        func exchangesEvents(_ kind: ServerKind) async throws {
            struct Thing: Codable, Equatable {
                var text = "Grüße \u{1F600} \"quoted\" \\ \u{2028}"
                var number = -9_007_199_254_740_991
                var fraction = 0.125
                var flags = [true, false]
                var nested = ["a": ["b": [1, 2, 3]]]
                var nothing: Int?
            }
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                try client.handler.send("echo", Thing(), "second", 3)
                let message = try await client.received("echo")[0]
                #expect(try message.decode(Thing.self) == Thing())
                #expect(try message.decode(String.self, at: 1) == "second")
                #expect(try message.decode(Int.self, at: 2) == 3)
                #expect(message.payload.values.count == 3)
            }
        }
    }
}
