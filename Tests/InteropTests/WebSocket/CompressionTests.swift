internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import LinkspanWebSocketProtocol
internal import Testing

extension Interop {
    /// permessage-deflate with a server by other authors.
    @Suite(.overBackEnds) struct CompressionTests {
        /// What the server says was agreed on.
        struct Agreement: Codable, Hashable, Sendable {
            var clientForgets = false
            var serverForgets = false
            var clientBits = 15
            var serverBits = 15
        }

        /// A server's options, and what they lead to.
        struct Setting: Sendable, CustomTestStringConvertible {
            var server: [String]
            var agreement: Agreement?

            var testDescription: String { "\(self.server)" }

            init(_ server: String..., leadsTo agreement: Agreement?) {
                self.server = server
                self.agreement = agreement
            }
        }

        private static let settings = [
            Setting(leadsTo: Agreement()),
            Setting("--no-compression", leadsTo: nil),
            Setting("--server-forgets", leadsTo: Agreement(serverForgets: true)),
            Setting("--client-forgets", leadsTo: Agreement(clientForgets: true)),
            Setting("--server-bits", "9", "--client-bits", "9", leadsTo: Agreement(clientBits: 9, serverBits: 9)),
            Setting("--client-bits", "8", leadsTo: Agreement(clientBits: 8)),
            Setting(
                "--server-forgets", "--client-forgets", "--server-bits", "10", "--client-bits", "12",
                leadsTo: Agreement(clientForgets: true, serverForgets: true, clientBits: 12, serverBits: 10)),
        ]

        @Test(arguments: settings)
        func `whatever is agreed on, messages arrive as they were sent`(_ setting: Setting) async throws {
            try await withServer(.webSocket, setting.server) { server in
                try await Bench.use { bench in
                    let client = try await bench.webSocket(
                        server, configuration: .init { $0.compression = .init() })
                    let answer = try await client.handler.request("compression")
                    #expect(try answer.decode(Agreement?.self) == setting.agreement)
                    let texts = (0..<50).map { "text \($0): " + String(repeating: "Grüße ", count: $0 * $0) }
                    for text in texts { try client.handler.send("echo", text) }
                    #expect(try await client.values("echo", count: 50, as: String.self) == texts)
                    let noise = Data((0..<100_000).map { _ in UInt8.random(in: 0...255) })
                    let pattern = Data((0..<300_000).map { _ in UInt8.random(in: 0...3) })
                    let reply = try await client.handler.request("req", noise, pattern, Data())
                    #expect(try reply.decode(Data.self) == noise)
                    #expect(try reply.decode(Data.self, at: 1) == pattern)
                    #expect(try reply.decode(Data.self, at: 2) == Data())
                    #expect(client.states.entries.count == 1)
                }
            }
        }

        @Test
        func `messages that several tasks send at once arrive whole`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(
                    server, configuration: .init { $0.compression = .init { $0.threshold = 0 } })
                try await client.connected()
                let handler = client.handler
                let texts = (0..<200).map { "\($0) of many: " + String(repeating: "\($0 % 7) words ", count: $0 * 5) }
                try await withThrowingTaskGroup { group in
                    for part in 0..<4 {
                        group.addTask {
                            for text in texts[(part * 50)..<(part * 50 + 50)] { try handler.send("echo", text) }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(Set(try await client.values("echo", count: 200, as: String.self)) == Set(texts))
                #expect(client.states.entries.count == 1)
            }
        }

        @Test
        func `messages that must not be compressed arrive, and so do those that are compressed around them`()
            async throws
        {
            try await Bench.use { bench in
                let policy = WebSocketCompression { $0.threshold = 0 }
                let raw = try await bench.webSocket(
                    try await SharedServers.server(.webSocket), configuration: .init { $0.compression = policy })
                var clients = [raw]
                for kind in ServerKind.socketIO {
                    clients.append(
                        try await bench.socketIO(
                            try await SharedServers.server(kind), configuration: .init { $0.compression = policy }))
                }
                for client in clients {
                    try await client.connected()
                    let texts = (0..<20).map { String(repeating: "number \($0) ", count: $0 * 50) }
                    for (number, text) in texts.enumerated() {
                        let answer = try await client.handler.request(
                            "req", text, Data(text.utf8), compress: number.isMultiple(of: 3))
                        #expect(try answer.decode(String.self) == text)
                        #expect(try answer.decode(Data.self, at: 1) == Data(text.utf8))
                    }
                    #expect(client.states.entries.count == 1)
                }
            }
        }

        @Test
        func `without a policy nothing is compressed`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(server)
                #expect(try await client.handler.request("compression").decode(Agreement?.self) == nil)
            }
        }

        @Test
        func `a message that is compressed a hundredfold arrives`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(
                    server, configuration: .init { $0.compression = .init() })
                try await client.connected()
                try client.handler.send("flood", ["n": 1, "bytes": 10_000_000])
                _ = try await client.handler.request("compression")
                #expect(client.states.entries.filter { $0.to == .connected }.count == 1)
            }
        }

        @Test
        func `a message that becomes larger than the limit ends the link, and another follows`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(
                    server,
                    configuration: .init {
                        $0.compression = .init()
                        $0.maximumMessageBytes = 1 << 20
                    })
                try await client.connected()
                try client.handler.send("flood", ["n": 1, "bytes": 10_000_000])
                let reason = try await client.lost()
                #expect(reason.error?.code == .protocolViolation)
                #expect(reason.error?.message == "a message is larger than the 1048576 bytes that are accepted here")
                try await client.connected(times: 2)
                try await client.settle()
            }
        }

        @Test(arguments: ServerKind.socketIO)
        func `Socket.IO servers compress, too`(_ kind: ServerKind) async throws {
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                let client = try await bench.socketIO(
                    server, configuration: .init { $0.compression = .init { $0.threshold = 0 } })
                try await client.connected()
                let texts = (0..<20).map { String(repeating: "number \($0) ", count: $0 * 50) }
                for text in texts {
                    let answer = try await client.handler.request("req", text, Data(text.utf8))
                    #expect(try answer.decode(String.self) == text)
                    #expect(try answer.decode(Data.self, at: 1) == Data(text.utf8))
                }
                #expect(client.states.entries.count == 1)
            }
        }
    }
}
