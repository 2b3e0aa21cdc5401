internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import TestedBackEnds
internal import Testing

/// A server, and a loop for its clients, for as long as a test takes.
final class Bench: Sendable {
    let hub: InMemoryHub
    let server: DevServer
    let loop = makeLoop(name: "clients")
    private let managers = Lock<[ConnectionManager]>([])

    private init(_ hub: InMemoryHub, _ configuration: DevServerConfiguration) {
        var configuration = configuration
        configuration.network = .current
        // On a busy machine credentials may take longer than the standard time.
        if configuration.introduction == DevServerConfiguration().introduction {
            configuration.introduction = .optional(within: .seconds(60))
        }
        self.hub = hub
        self.server = DevServer(hub: hub, namespaces: ["/second": hub], configuration: configuration)
    }

    static func run(
        hub: InMemoryHub = .echo(), configuration: DevServerConfiguration = .init(),
        _ body: (Bench) async throws -> Void
    ) async throws {
        let bench = Bench(hub, configuration)
        try await bench.server.start()
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(bench)) } catch { outcome = .failure(error) }
        for manager in bench.managers.withLock({ $0 }) { await manager.shutdown() }
        bench.loop.shutdown()
        await bench.server.stop()
        try outcome.get()
    }

    /// Shuts down the managers of the clients, or of those behind the first so many.
    func shutDownClients(from first: Int = 0) async {
        for manager in self.managers.withLock({ $0[first...] }) { await manager.shutdown() }
    }

    /// The server's URL for a wire, and a transport of that wire.
    func place(_ way: Way) -> (url: String, transport: any Transport) {
        let url =
            switch way {
            case .socketIO: self.server.socketIOURL
            case .webSocket: self.server.webSocketURL
            }
        return (url, way.transport(on: self.loop, socketPath: self.server.configuration.socketPath))
    }

    /// Connects in one way, over a transport of that kind if one is given.
    func client(
        _ way: Way, auth: [String: String] = [:], path: String = "", over given: (any Transport)? = nil
    ) async throws -> Client {
        let place = self.place(way)
        let transport = given ?? place.transport
        let configuration = try ConnectionBuilder(place.url + path)
            .transport(transport)
            .credentials(.fixed(try Credentials(auth: auth)))
            .options {
                $0.retry = .backoff(
                    firstSpread: .milliseconds(20), initial: .milliseconds(50), earlyCap: .milliseconds(100),
                    cap: .milliseconds(100))
                $0.idleTimeout = .zero
            }
            .build()
        // One for each, so that no two share a connection.
        let manager = ConnectionManager()
        self.managers.withLock { $0.append(manager) }
        return try await Client(configuration, by: manager, on: self.loop)
    }
}

/// A wire on which a client may come.
enum Way: Sendable, CaseIterable, CustomTestStringConvertible {
    case socketIO(SocketIOCarriers)
    case webSocket

    static let allCases: [Way] = SocketIOCarriers.allCases.map { .socketIO($0) } + [.webSocket]

    /// A transport for this wire, with the given options of those that every wire has.
    func transport(
        on loop: any NetworkLoop, socketPath: String? = nil, maximumMessageBytes: Int? = nil
    ) -> any Transport {
        func configured<Configuration: NetworkConfiguration>(_ configuration: Configuration) -> Configuration {
            var configuration = configuration
            configuration.socketPath = socketPath
            if let maximumMessageBytes { configuration.maximumMessageBytes = maximumMessageBytes }
            return configuration
        }
        return switch self {
        case .socketIO(let carriers):
            SocketIOTransport(configured(.init { $0.carriers = carriers }), loop: loop)
        case .webSocket: WebSocketTransport(configured(.init()), loop: loop)
        }
    }

    var testDescription: String {
        switch self {
        case .socketIO(let carriers): "Socket.IO over \(carriers.rawValue)"
        case .webSocket: "a raw WebSocket"
        }
    }
}
