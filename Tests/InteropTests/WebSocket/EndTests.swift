internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket
internal import Testing

extension Interop {
    /// How raw WebSocket connections end, and what follows.
    @Suite(.overWebSockets) struct EndTests {
        /// A close code of a server, and what is made of it.
        struct Close: Sendable, CustomTestStringConvertible {
            var status: Int
            var code: LinkspanError.Code
            var isFinal = false

            var testDescription: String { "\(self.status)" }
        }

        private static let closes = [
            Close(status: 1000, code: .connectionLost), Close(status: 1001, code: .connectionLost),
            Close(status: 1003, code: .messageRefused), Close(status: 1007, code: .messageRefused),
            Close(status: 1008, code: .refused, isFinal: true), Close(status: 1009, code: .messageRefused),
            Close(status: 1011, code: .connectionLost), Close(status: 1012, code: .serverUnavailable),
            Close(status: 1013, code: .serverUnavailable), Close(status: 3000, code: .connectionLost),
            Close(status: 4000, code: .connectionLost),
            Close(status: 4401, code: .credentialsRefused, isFinal: true),
            Close(status: 4403, code: .refused, isFinal: true),
        ]

        @Test(arguments: closes)
        func `a close code says whether to come back`(_ close: Close) async throws {
            struct Order: Encodable {
                var code: Int
                var reason: String
            }
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(server)
                try await client.connected()
                try client.handler.send("close", Order(code: close.status, reason: "as told"))
                let reason = try await client.lost()
                let error = try #require(reason.error)
                #expect(error.code == close.code)
                #expect(error.message.contains("\(close.status)"))
                #expect(error.message.contains("as told"))
                #expect(error.webSocketClose == .init(code: UInt16(close.status), reason: "as told"))
                guard !close.isFinal else {
                    #expect(reason.isFailure)
                    #expect(client.handler.status.progress == .idle)
                    return
                }
                #expect(reason.isLoss)
                try await client.connected(times: 2)
                try await client.settle()
            }
        }

        @Test
        func `a request that the close fails has its code and reason, and so has the status`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(server) { $0.retry = .never }
                try await client.connected()
                let error = await #expect(throws: LinkspanError.self) {
                    try await client.handler.request("close", ["code": 4009])
                }
                #expect(error?.code == .disconnected)
                #expect(error?.webSocketClose == .init(code: 4009))
                _ = try await client.states.first { $0.to == .disconnected }
                #expect(client.handler.status.lastError?.webSocketClose?.code == 4009)
            }
        }

        @Test
        func `code 4401 has the credentials renewed once`() async throws {
            let server = try await SharedServers.server(.webSocket)
            let requests = Journal<CredentialRequest.Reason>("credential requests")
            try await Bench.use { bench in
                let client = try await bench.webSocket(
                    server,
                    credentials: .provider { request in
                        requests.append(request.reason)
                        return Credentials()
                    })
                try await client.connected()
                try client.handler.send("close", ["code": 4401])
                try await client.connected(times: 2)
                #expect(requests.entries == [.first, .refused])
            }
        }

        private static let broken = [
            "no JSON", "[]", "{}", #"{"event":1}"#, #"{"event":"e","data":{}}"#, #"{"event":"e","attachments":-1}"#,
            #"{"event":"e","attachments":1000}"#, #"{"ack":"one","data":[]}"#, #"{"auth":{}}"#, "",
        ]

        @Test(arguments: broken)
        func `an invalid envelope ends the link, and another link follows`(_ text: String) async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                try await bench.webSocket(server).expectViolation(by: text)
            }
        }

        @Test
        func `attachments out of turn end the link, and another link follows`() async throws {
            let half = #"{"event":"e","data":[{"_placeholder":true,"num":0}],"attachments":1}"#
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(server)
                try await client.connected()
                try client.handler.send("raw", half, half)
                #expect(try await client.lost().error?.code == .protocolViolation)
                try await client.connected(times: 2)
                try client.handler.send("raw", Data([1]))
                #expect(try await client.lost(times: 2).error?.code == .protocolViolation)
                try await client.connected(times: 3)
                try client.handler.send("raw", half, Data([1]))
                #expect(try await client.values("e", as: Data.self) == [Data([1])])
                #expect(client.messages.entries.map(\.event) == ["e"])
            }
        }

        @Test
        func `a path that the server does not have is final, and said to be what is wrong`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(server, "/nowhere")
                let change = try await client.states.first { $0.to == .disconnected }
                #expect(change.reason.error?.code == .refused)
                #expect(change.reason.error?.message.contains("there is nothing at /nowhere") == true)
            }
        }

        @Test
        func `a server that hangs is left when it answers no ping, and found again`() async throws {
            try await withServer(.webSocket) { server in
                try await Bench.use { bench in
                    let configuration = WebSocketConfiguration {
                        $0.keepAlive = .init(interval: .milliseconds(300), timeout: .milliseconds(700))
                    }
                    let client = try await bench.webSocket(server, configuration: configuration) {
                        $0.openDeadline = .seconds(5)
                    }
                    try await client.settle()
                    server.pause()
                    let reason = try await client.lost()
                    #expect(reason.isLoss)
                    #expect(reason.error?.code == .heartbeatMissed)
                    server.resume()
                    try await client.connected(times: 2)
                    try await client.settle()
                }
            }
        }

        @Test
        func `a quiet connection outlives many pings, ours and the server's`() async throws {
            try await withServer(.webSocket, ["--ping-interval", "0.2", "--ping-timeout", "30"]) { server in
                try await Bench.use { bench in
                    let client = try await bench.webSocket(
                        server,
                        configuration: .init {
                            $0.keepAlive = .init(interval: .milliseconds(200), timeout: .seconds(30))
                        })
                    try await client.connected()
                    await #expect(throws: LinkspanError.self) {
                        try await client.handler.request("unheard of", timeout: .seconds(2))
                    }
                    try await client.settle()
                    #expect(client.states.entries.map(\.to) == [.connected])
                }
            }
        }

        @Test
        func `after a crash, what was sent meanwhile arrives in order`() async throws {
            try await withServer(.webSocket) { server in
                try await Bench.use { bench in
                    try await bench.webSocket(server).expectOrder(afterCrashOf: server)
                }
            }
        }
    }
}
