internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO
internal import LinkspanTesting
internal import LinkspanWebSocket
internal import Testing
internal import TestSupport

extension Interop {
    /// What every transport promises, over the network.
    @Suite struct ConformanceTests {
        private static let auth = Payload(trustedElements: Array(#"{"name":"tester"}"#.utf8)[...])

        private struct SocketIOFixture: TransportFixture {
            let loop: any NetworkLoop
            let tls: TLSPolicy
            let request: LinkRequest
            let refusedRequest: LinkRequest?
            let earlyRequest: LinkRequest?
            let unreachableRequest: LinkRequest?

            init(_ server: PythonServer, loop: any NetworkLoop) throws {
                let scheme = server.isSecure ? "https" : "http"
                let url = "\(scheme)://127.0.0.1:\(server.port)"
                self.loop = loop
                self.tls = server.tls
                self.request = LinkRequest(url: try ConnectionURL(url), credentials: Credentials(auth: auth))
                self.refusedRequest = LinkRequest(
                    url: try ConnectionURL("\(url)/auth"), credentials: try Credentials(auth: ["token": "bad"]))
                self.earlyRequest = LinkRequest(
                    url: try ConnectionURL(url), credentials: try Credentials(auth: ["early": true]))
                self.unreachableRequest = LinkRequest(url: try ConnectionURL("\(scheme)://127.0.0.1:1"))
            }

            func makeTransport() -> any Transport {
                let configuration = SocketIOConfiguration {
                    $0.carriers = Wire.current.carriers
                    $0.tls = self.tls
                }
                return SocketIOTransport(configuration, loop: self.loop)
            }
        }

        private struct WebSocketFixture: TransportFixture {
            let loop: any NetworkLoop
            let tls: TLSPolicy
            let request: LinkRequest
            let refusedRequest: LinkRequest?
            let earlyRequest: LinkRequest?
            let unreachableRequest: LinkRequest?
            /// The server has no code of its own for it.
            let tellsKicks = false

            init(_ server: PythonServer, loop: any NetworkLoop) throws {
                let scheme = server.isSecure ? "wss" : "ws"
                let url = "\(scheme)://127.0.0.1:\(server.port)/envelope"
                self.loop = loop
                self.tls = server.tls
                self.request = LinkRequest(url: try ConnectionURL(url), credentials: Credentials(auth: auth))
                self.refusedRequest = LinkRequest(
                    url: try ConnectionURL(url),
                    credentials: Credentials(headers: [.init("Authorization", "Bearer bad")]))
                self.earlyRequest = LinkRequest(url: try ConnectionURL("\(url)?early"))
                self.unreachableRequest = LinkRequest(url: try ConnectionURL("\(scheme)://127.0.0.1:1/envelope"))
            }

            func makeTransport() -> any Transport { WebSocketTransport(.init { $0.tls = self.tls }, loop: self.loop) }
        }

        @Test(.overEachWire, arguments: TransportConformance.Check.allCases, ServerKind.asyncio)
        func `Socket.IO conforms`(_ check: TransportConformance.Check, _ kind: ServerKind) async throws {
            guard check.description != "carries large messages" || kind.takesLargeMessages else { return }
            guard check.description != "carries binary both ways" || kind.takesMediumMessages else { return }
            let server = try await SharedServers.server(kind)
            try await Bench.use { bench in
                try await TransportConformance.run(check, over: SocketIOFixture(server, loop: bench.loop))
            }
        }

        @Test(.overWebSockets, arguments: TransportConformance.Check.allCases)
        func `raw WebSocket conforms`(_ check: TransportConformance.Check) async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                try await TransportConformance.run(check, over: WebSocketFixture(server, loop: bench.loop))
            }
        }
    }
}
