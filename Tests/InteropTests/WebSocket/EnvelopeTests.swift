internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanWebSocket
internal import Testing

extension Interop {
    /// The JSON envelope over a raw WebSocket, and frames without any.
    @Suite(.overWebSockets) struct EnvelopeTests {
        @Test
        func `an event and its echo keep every kind of JSON value`() async throws {
            struct Thing: Codable, Equatable {
                var text = "Grüße \u{1F600} \"quoted\" \\ \u{2028}"
                var number = -9_007_199_254_740_991
                var fraction = 0.125
                var flags = [true, false]
                var nothing: Int?
            }
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(server)
                let info = try await client.connected()
                #expect(info.facts["messages"] == "json")
                try client.handler.send("echo", Thing(), "second")
                try client.handler.send("echo")
                let messages = try await client.received("echo", count: 2)
                #expect(try messages[0].decode(Thing.self) == Thing())
                #expect(try messages[0].decode(String.self, at: 1) == "second")
                #expect(messages[1].payload.isEmpty)
            }
        }

        @Test
        func `acks go both ways`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(server)
                try client.handler.on("question") { try? $0.reply("re: \($0.payload[0]?.string ?? "")") }
                try client.handler.send("ask", "one")
                try client.handler.send("ask", "two")
                #expect(try await client.values("answered", count: 2, as: String.self) == ["re: one", "re: two"])
                let handler = client.handler
                async let first = handler.request("req", "first", 1)
                async let second = handler.request("req")
                #expect(try await first.decode(Int.self, at: 1) == 1)
                #expect(try await second.isEmpty)
            }
        }

        @Test
        func `attachments go both ways, in events, requests and replies`() async throws {
            struct Album: Codable, Equatable {
                var pictures = [Data((0...255).map { UInt8($0) }), Data()]
                var cover = ["front": Data(repeating: 9, count: 70_000)]
            }
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(server)
                try client.handler.send("echo", "album", Album())
                let event = try await client.received("echo")[0]
                #expect(event.payload.attachments.count == 3)
                #expect(try event.decode(Album.self, at: 1) == Album())
                #expect(try await client.handler.request("req", Album()).decode(Album.self) == Album())
                try client.handler.on("question") { $0.reply(payload: $0.payload) }
                try client.handler.send("ask", Album())
                #expect(try await client.received("answered")[0].decode(Album.self) == Album())
            }
        }

        @Test
        func `each attempt begins with the auth payload that was made for it`() async throws {
            let server = try await SharedServers.server(.webSocket)
            let requests = Journal<CredentialRequest.Reason>("credential requests")
            try await Bench.use { bench in
                let client = try await bench.webSocket(
                    server,
                    credentials: .provider { request in
                        requests.append(request.reason)
                        return try Credentials(auth: ["attempt": requests.entries.count])
                    })
                for attempt in 1...2 {
                    try await client.connected(times: attempt)
                    let answer = try await client.handler.request("whoami", timeout: .seconds(30))
                    #expect(try answer.decode([String: Int].self) == ["attempt": attempt])
                    guard attempt < 2 else { break }
                    try client.handler.send("close", ["code": 1011])
                    try await client.lost()
                }
                #expect(requests.entries == [.first, .retry])
            }
        }

        @Test(
            arguments: [
                (["other", "linkspan.json"], "linkspan.json"), (["unknown", "other"], "other"), (["unknown"], nil),
                ([], nil),
            ] as [([String], String?)])
        func `the server chooses the sub-protocol that it prefers`(_ offer: [String], _ choice: String?) async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(server, configuration: .init { $0.subprotocols = offer })
                #expect(try await client.connected().facts["subprotocol"] == choice)
                try await client.settle()
            }
        }

        @Test
        func `frames without an envelope come back as they were`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(
                    server, "/echo", configuration: .init { $0.protocol = BinaryMessageProtocol(event: "frame") })
                let frames = [Data([0, 255, 128]), Data(), Data(repeating: 1, count: 200_000)]
                for frame in frames { try client.handler.send("frame", frame) }
                #expect(try await client.values("frame", count: 3, as: Data.self) == frames)
            }
        }

        @Test
        func `texts and attachments of 5 MiB go both ways`() async throws {
            let text = String(repeating: "0123456789abcdef", count: (5 << 20) / 16)
            let blob = Data((0..<(5 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(server) { $0.buffer.bytes = 32 << 20 }
                let ack = try await client.handler.request("req", text, blob)
                #expect(try ack.decode(String.self) == text)
                #expect(try ack.decode(Data.self, at: 1) == blob)
                try client.handler.send("echo", blob, text)
                let event = try await client.received("echo")[0]
                #expect(try event.decode(Data.self) == blob)
                #expect(try event.decode(String.self, at: 1) == text)
                #expect(client.states.entries.count == 1)
            }
        }
    }
}
