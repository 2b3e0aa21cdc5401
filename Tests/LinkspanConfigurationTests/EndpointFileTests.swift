internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Endpoints of a file", .timeLimit(.minutes(1)))
struct EndpointFileTests {
    private let clock = VirtualScheduler()

    private func file(_ connection: String) -> String {
        """
        linkspan:
          transport: { adapter: scripted, scripted: { url: "scripted://a" } }
          connection: { \(connection) }
        """
    }

    private func start(
        _ transport: ScriptedTransport, _ text: String, environment: [String: String] = [:]
    ) async throws -> (Messaging, ConnectionHandler) {
        var catalog = Catalog()
        catalog.add(TransportFactory("scripted", schemes: ["scripted"]) { _ in transport })
        let plan = try withDirectory { files in
            try ConfigurationLoader(catalog: catalog).load(
                file: try files.write("app.yaml", text), environment: environment)
        }
        let clock = self.clock
        let messaging = try await Messaging.start(
            plan.plan,
            connections: .init {
                $0.scheduler = clock
                $0.random = { 0.5 }
            })
        return (messaging, try await messaging.connect())
    }

    /// A server at each host, of which some are down.
    private func servers(down: Lock<Set<String>>) -> ScriptedTransport {
        let transport = ScriptedTransport(scheduler: self.clock)
        transport.onConnect { peer throws(LinkspanError) in
            let host = peer.request.url.host
            if down.withLock({ $0.contains(host) }) { throw LinkspanError(.connectionLost, "\(host) is down") }
        }
        return transport
    }

    @Test
    func `a connection fails over to the endpoints of the file, in order, and returns to the first`() async throws {
        let down = Lock<Set<String>>(["a", "b"])
        let transport = self.servers(down: down)
        let (messaging, connection) = try await self.start(
            transport, self.file(#"endpoints: ["scripted://b", "scripted://c"], endpointReturnAfter: 60"#))
        self.clock.advance(by: .seconds(5))
        #expect(transport.peers.map { $0.request.url.host } == ["a", "b", "c"])
        #expect(connection.state == .connected && connection.status.endpoint.host == "c")
        down.withLock { $0 = ["c"] }
        transport.openPeers.first?.drop()
        self.clock.advance(by: .seconds(10))
        #expect(connection.state == .connected && connection.status.endpoint.host == "a")
        down.withLock { $0 = ["a"] }
        transport.openPeers.first?.drop()
        self.clock.advance(by: .seconds(10))
        #expect(connection.status.endpoint.host == "b")
        down.withLock { $0 = [] }
        self.clock.advance(by: .seconds(120))
        #expect(connection.state == .connected && connection.status.endpoint.host == "a")
        await messaging.stop()
    }

    @Test
    func `a variable replaces the list, and shuffling decides about the order`() async throws {
        let transport = self.servers(down: Lock(["a"]))
        let (messaging, connection) = try await self.start(
            transport, self.file(#"endpoints: ["scripted://b"], endpointsShuffled: true"#),
            environment: ["LINKSPAN_CONNECTION_ENDPOINTS": "scripted://x, scripted://y"])
        self.clock.advance(by: .seconds(5))
        #expect(Set(transport.peers.map { $0.request.url.host }).isSubset(of: ["a", "x", "y"]))
        #expect(connection.explain().contains("(shuffled)"))
        #expect(connection.state == .connected && ["x", "y"].contains(connection.status.endpoint.host))
        await messaging.stop()
    }
}
