internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanTesting
internal import LinkspanWebSocket
internal import TestSupport
internal import TestedBackEnds
internal import Testing

/// The conformance suite of transports, with a broker between client and server.
@Suite("Conformance over brokers", .overSomeBackEnd, .timeLimit(.minutes(3)))
struct TransportConformanceTests {
    private struct Fixture: TransportFixture {
        let transport: any Transport
        let request: LinkRequest
        let unreachableRequest: LinkRequest?
        /// A link that is cut is all that a peer can bring about.
        let tellsKicks = false

        func makeTransport() -> any Transport { self.transport }
    }

    /// Those with several blobs in a message are left out, which no broker's message can have.
    private static let checks = TransportConformance.Check.allCases.filter {
        !["carries binary both ways", "carries large messages"].contains($0.description)
    }

    /// Cuts the links through the relay each time that the server asks for it, until the journal has its end.
    private static func cut(_ relay: PythonServer, _ server: ContractServer) async throws {
        for count in 1... {
            let cuts = try await server.cuts.entries(within: .seconds(180)) { $0.count >= count }
            guard cuts[count - 1] != nil else { return }
            try await relay.restart()
            server.restarts.append(count)
        }
    }

    @Test(arguments: BrokerCase.all)
    func `links through a broker conform`(_ of: BrokerCase) async throws {
        try await Broker.run(of.kind) { broker in
            try await broker.withRelay { relay in
                let server = try ContractServer(try broker.connect(of.language), of)
                try await server.connection.up()
                try await server.connection.settle(of.separator)
                let url = try ConnectionURL("ws://127.0.0.1:\(relay.port)")
                let configuration = WebSocketConfiguration { $0.protocol = RoutedProtocol(of) }
                let fixture = Fixture(
                    transport: WebSocketTransport(configuration, loop: broker.loop), request: LinkRequest(url: url),
                    unreachableRequest: LinkRequest(url: try ConnectionURL("ws://127.0.0.1:1")))
                async let cutting: Void = Self.cut(relay, server)
                for check in Self.checks {
                    try await TransportConformance.run(check, over: fixture)
                    let cuts = server.cuts.entries.count
                    try await server.restarts.entries { $0.count == cuts }
                }
                server.cuts.append(nil)
                try await cutting
            }
        }
    }
}
