internal import LinkspanSocketIO
internal import Testing
internal import TestSupport

/// The servers there are.
enum ServerKind: String, Sendable, CaseIterable {
    case aiohttp
    case uvicorn
    case threaded
    case gevent
    case eventlet
    /// Socket.IO 2.x.
    case legacy
    /// One with connection state recovery.
    case recovery
    case webSocket

    /// The two common asyncio servers, which most Socket.IO tests run against.
    static let asyncio: [Self] = [.aiohttp, .uvicorn]
    /// All that speak Socket.IO.
    static let socketIO: [Self] = [.aiohttp, .uvicorn, .threaded]
    /// Those that tests of TLS run against.
    static let secure: [Self] = socketIO + [.webSocket]
    /// The others, which handle requests as the threaded one does, but carry them by libraries of their own.
    static let green: [Self] = [.gevent, .eventlet]

    /// Whether it takes large messages over the present carrier.
    ///
    /// python-engineio on aiohttp reads of a POST's body only what has arrived when it looks, because a stream of
    /// aiohttp returns what it has (aiohttp issue 3926).
    var takesLargeMessages: Bool { self != .aiohttp || Wire.current.carriers == .webSocket }

    /// The same of messages of 100 kB: in the clear they arrive at once, in records of TLS they do not.
    var takesMediumMessages: Bool { self.takesLargeMessages || !Wire.current.isSecure }

    /// Makes a server for the present wire.
    fileprivate func makeServer(_ arguments: [String], _ certificates: Certificates?) -> PythonServer {
        switch self {
        case .aiohttp, .uvicorn, .threaded, .gevent, .eventlet:
            PythonServer("socketio_server.py", ["--kind", self.rawValue] + arguments, certificates: certificates)
        case .legacy:
            PythonServer("legacy_server.py", arguments, environment: ".venv-legacy", certificates: certificates)
        case .recovery:
            PythonServer("recovery_server.py", arguments, certificates: certificates)
        case .webSocket:
            PythonServer("websocket_server.py", arguments, certificates: certificates)
        }
    }
}

/// Runs a test against a server of its own, which it may kill.
func withServer(
    _ kind: ServerKind, _ arguments: [String] = [], body: (PythonServer) async throws -> Void
) async throws {
    let server = kind.makeServer(arguments, try await SharedServers.presentCertificates())
    try await server.use { try await body(server) }
}

/// Runs a test that mostly waits against servers of its own of several kinds, all at once.
func withServers(
    _ kinds: [ServerKind], _ arguments: [String],
    body: @escaping @Sendable (ServerKind, PythonServer) async throws -> Void
) async throws {
    try await withThrowingTaskGroup { group in
        for kind in kinds {
            group.addTask { try await withServer(kind, arguments) { server in try await body(kind, server) } }
        }
        try await group.waitForAll()
    }
}

/// Servers that tests share, each started when it is first wanted, and the certificates that these show.
actor SharedServers {
    private struct Key: Hashable {
        let name: String
        let isSecure: Bool
    }

    @TaskLocal fileprivate static var current: SharedServers?

    private var servers: [Key: Task<PythonServer, any Error>] = [:]
    private var certificates: Task<Certificates, any Error>?

    /// The shared server of a kind, for the present wire.
    static func server(_ kind: ServerKind) async throws -> PythonServer {
        try await Self.started(kind.rawValue) { kind.makeServer([], $0) }
    }

    /// The shared server that stops answering at some point, for the present wire.
    static func silent(at stop: String) async throws -> PythonServer {
        try await Self.started("silent at \(stop)") {
            PythonServer("silent_server.py", ["--at", stop], certificates: $0)
        }
    }

    /// The certificates of all servers.
    static func certificates() async throws -> Certificates { try await Self.present.madeCertificates() }

    /// What a server shows over the present wire; nil for nothing.
    fileprivate static func presentCertificates() async throws -> Certificates? {
        Wire.current.isSecure ? try await Self.certificates() : nil
    }

    private static var present: SharedServers {
        get throws { try #require(Self.current, "the test is outside the suite that has the servers") }
    }

    private static func started(
        _ name: String, _ make: @escaping @Sendable (Certificates?) -> PythonServer
    ) async throws -> PythonServer {
        try await Self.present.started(name, certificates: Self.presentCertificates(), make)
    }

    private func started(
        _ name: String, certificates: Certificates?, _ make: @escaping @Sendable (Certificates?) -> PythonServer
    ) async throws -> PythonServer {
        let key = Key(name: name, isSecure: certificates != nil)
        if let starting = self.servers[key] { return try await starting.value }
        // All tests wait for it, so that none may be its parent.
        let starting = Task {
            let server = make(certificates)
            try await server.start()
            return server
        }
        self.servers[key] = starting
        return try await starting.value
    }

    private func madeCertificates() async throws -> Certificates {
        if let making = self.certificates { return try await making.value }
        let making = Task { try await Certificates() }
        self.certificates = making
        return try await making.value
    }

    fileprivate func stop() async {
        for starting in self.servers.values { try? await starting.value.stop() }
        self.servers = [:]
    }
}

/// Keeps the shared servers for as long as a suite runs.
struct SharedServersTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let servers = SharedServers()
        do {
            try await SharedServers.$current.withValue(servers) { try await function() }
        } catch {
            await servers.stop()
            throw error
        }
        await servers.stop()
    }
}

extension Trait where Self == SharedServersTrait {
    /// One server of each kind for the whole suite.
    static var sharedServers: Self { Self() }
}
