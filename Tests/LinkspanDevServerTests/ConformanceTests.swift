internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanSocketIO
internal import LinkspanTesting
internal import LinkspanWebSocket
internal import TestedBackEnds
internal import LinkspanNetwork
internal import Testing

/// What every transport promises, with this server at the other end.
@Suite(.serialized, .overSomeBackEnd)
struct ConformanceTests {
    private struct Fixture: TransportFixture {
        let request: LinkRequest
        let refusedRequest: LinkRequest?
        let earlyRequest: LinkRequest?
        let unreachableRequest: LinkRequest?
        let tellsKicks: Bool
        let transport: any Transport

        init(_ url: String, _ transport: any Transport, tellsKicks: Bool) throws {
            let url = try ConnectionURL(url)
            self.request = LinkRequest(url: url, credentials: try Credentials(auth: ["name": "tester"]))
            // A raw WebSocket is open before it has said who it is.
            let refused = LinkRequest(url: url, credentials: try Credentials(auth: ["refuse": true]))
            self.refusedRequest = url.scheme == "ws" ? nil : refused
            self.earlyRequest = LinkRequest(url: url, credentials: try Credentials(auth: ["early": true]))
            self.unreachableRequest = LinkRequest(url: try ConnectionURL("\(url.scheme)://127.0.0.1:1"))
            self.transport = transport
            self.tellsKicks = tellsKicks
        }

        func makeTransport() -> any Transport { self.transport }
    }

    @Test(arguments: TransportConformance.Check.allCases)
    func `Socket.IO conforms, however it is carried`(_ check: TransportConformance.Check) async throws {
        for carriers in SocketIOCarriers.allCases {
            try await Bench.run { bench in
                let place = bench.place(.socketIO(carriers))
                let fixture = try Fixture(place.url, place.transport, tellsKicks: true)
                try await TransportConformance.run(check, over: fixture)
            }
        }
    }

    @Test(arguments: TransportConformance.Check.allCases)
    func `raw WebSockets conform`(_ check: TransportConformance.Check) async throws {
        try await Bench.run { bench in
            let transport = WebSocketTransport(loop: bench.loop)
            // The client takes close code 4403 for another kind of refusal.
            let fixture = try Fixture(bench.server.webSocketURL, transport, tellsKicks: false)
            try await TransportConformance.run(check, over: fixture)
        }
    }
}
