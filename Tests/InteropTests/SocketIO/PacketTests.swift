internal import Foundation
internal import Linkspan
internal import LinkspanSocketIO
internal import Testing
internal import TestSupport

extension Interop {
    /// Each type of packet, in each direction in which clients and servers send it.
    @Suite(.overEachWire) struct PacketTests {
        @Test(arguments: ServerKind.socketIO)
        func `CONNECT is answered with a session id`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                let info = try await client.connected()
                #expect(info.sessionID?.isEmpty == false)
                #expect(info.facts["namespace"] == "/")
                #expect(Wire.current.carrierNames.contains(info.facts["carrier"] ?? ""))
                #expect(client.handler.status.link?.sessionID == info.sessionID)
                #expect(client.states.entries.map(\.to) == [.connected])
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `CONNECT to an unknown namespace fails permanently`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server, "/nowhere")
                let reason = try await client.lost()
                #expect(reason.isFailure)
                #expect(reason.error?.code == .refused)
                #expect(client.handler.status.progress == .idle)
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `an EVENT and its echo keep every kind of JSON value`(_ kind: ServerKind) async throws {
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

        @Test(arguments: ServerKind.socketIO)
        func `an EVENT without arguments is echoed without arguments`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                try client.handler.send("echo")
                #expect(try await client.received("echo")[0].payload.isEmpty)
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `the server's ACK answers the request that asked for it`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                let handler = client.handler
                async let first = handler.request("req", "first", 1)
                async let second = handler.request("req", "second", 2)
                async let none = handler.request("req")
                #expect(try await first.values.map(\.string) == ["first", nil])
                #expect(try await second.decode(Int.self, at: 1) == 2)
                #expect(try await none.isEmpty)
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `the client's ACK answers the server's question`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                try client.handler.on("question") { message in
                    #expect(message.wantsReply)
                    try? message.reply("re: \(message.payload[0]?.string ?? "")", message.payload.values.count)
                    try? message.reply("a second answer, which does not count")
                }
                try client.handler.send("ask", "one")
                try client.handler.send("ask", "two", 2)
                let answers = try await client.received("answered", count: 2)
                #expect(try answers.map { try $0.decode(String.self) } == ["re: one", "re: two"])
                #expect(try answers.map { try $0.decode(Int.self, at: 1) } == [1, 2])
                try await client.settle()
                #expect(client.messages.entries.filter { $0.event == "answered" }.count == 2)
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `BINARY_EVENT and BINARY_ACK carry three attachments each way, in order`(_ kind: ServerKind) async throws {
            let blobs = [
                Data((0...255).map { UInt8($0) }),
                Data(repeating: 0x7A, count: kind.takesLargeMessages ? 70_000 : 7_000), Data(),
            ]
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                let ack = try await client.handler.request("binary3", blobs[0], blobs[1], blobs[2])
                let event = try await client.received("binary3")[0]
                for payload in [ack, event.payload] {
                    #expect(payload.attachments.count == 3)
                    let back = try (0..<3).map { try payload.decode(Data.self, at: $0) }
                    #expect(back == blobs.reversed())
                }
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `attachments deep inside arguments come back at their places`(_ kind: ServerKind) async throws {
            struct Album: Codable, Equatable {
                var title = "album"
                var pictures = [Data([1, 2, 3]), Data([4])]
                var cover = ["front": Data([5, 6])]
            }
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                let ack = try await client.handler.request("req", "before", Album(), 7)
                #expect(try ack.decode(Album.self, at: 1) == Album())
                #expect(try ack.decode(Int.self, at: 2) == 7)
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `the server's DISCONNECT ends the connection until the app connects again`(_ kind: ServerKind) async throws
        {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                try await client.connected()
                try client.handler.send("kick")
                let reason = try await client.lost()
                #expect(reason.isFailure)
                #expect(reason.error?.code == .closedByServer)
                #expect(client.handler.status.progress == .idle)
                try client.handler.connect()
                try await client.connected(times: 2)
                try await client.settle()
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `the client's DISCONNECT leaves one namespace and keeps the others`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let staying = try await bench.socketIO(server)
                let leaving = try await bench.socketIO(server, "/chat")
                let first = try await leaving.connected()
                try leaving.handler.disconnect()
                // The same socket takes CONNECT again, which a server that had missed the DISCONNECT would refuse.
                try leaving.handler.connect()
                let second = try await leaving.connected(times: 2)
                #expect(first.sessionID != second.sessionID)
                try await leaving.settle()
                try await staying.settle()
                #expect(staying.states.entries.map(\.to) == [.connected])
                #expect(leaving.states.entries.map(\.to) == [.connected, .disconnected, .reconnecting, .connected])
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `events from before the answer to CONNECT come first, in order`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(
                    server, credentials: .fixed(Credentials(auth: ["early": true])))
                try client.handler.send("echo", "later")
                try await client.received("echo")
                #expect(client.messages.entries.map(\.event) == ["early", "early", "early", "echo"])
                #expect(try await client.values("early", count: 3, as: Int.self) == [1, 2, 3])
            }
        }

        @Test(arguments: ServerKind.asyncio)
        func `thousands of events in a row arrive completely and in order`(_ kind: ServerKind) async throws {
            struct Item: Decodable {
                var id: Int
                var pad: String
            }
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server)
                let ack = try await client.handler.request("flood", ["n": 3_000, "bytes": 200])
                #expect(try ack.decode(Int.self) == 3_000)
                let items = try await client.values("item", count: 3_000, as: Item.self)
                #expect(items.map(\.id) == Array(0..<3_000))
                #expect(items.allSatisfy { $0.pad.utf8.count == 200 })
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `a text of 5 MiB goes both ways`(_ kind: ServerKind) async throws {
            guard kind.takesLargeMessages else { return }
            let text = String(repeating: "0123456789abcdef", count: (5 << 20) / 16)
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server) { $0.buffer.bytes = 16 << 20 }
                let ack = try await client.handler.request("req", text, timeout: .seconds(60))
                #expect(try ack.decode(String.self) == text)
                try client.handler.send("echo", text)
                #expect(try await client.values("echo", as: String.self) == [text])
                #expect(client.states.entries.count == 1)
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `5 MiB of binary go both ways`(_ kind: ServerKind) async throws {
            guard kind.takesLargeMessages else { return }
            let blob = Data((0..<(5 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(server) { $0.buffer.bytes = 16 << 20 }
                let ack = try await client.handler.request("req", blob, timeout: .seconds(60))
                #expect(try ack.decode(Data.self) == blob)
                try client.handler.send("echo", blob)
                #expect(try await client.values("echo", as: Data.self) == [blob])
                #expect(client.states.entries.count == 1)
            }
        }
    }
}

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
