internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import Testing
internal import TestSupport

/// What one test connects with: a loop and a manager of its own, so that it shares no socket with another test.
final class Bench: Sendable {
    let loop = Wire.current.makeLoop()
    let manager: ConnectionManager
    /// The transports by configuration: namespaces share a socket when they have one transport.
    private let transports = Lock<[SocketIOConfiguration: SocketIOTransport]>([:])

    private init(_ manager: ConnectionManager) { self.manager = manager }

    /// Runs a test, then ends its connections and its loop.
    static func use<Outcome: Sendable>(
        _ manager: ConnectionManager = .hasty, _ body: (Bench) async throws -> Outcome
    ) async throws -> Outcome {
        let bench = Bench(manager)
        let outcome: Result<Outcome, any Error>
        do {
            outcome = .success(try await body(bench))
        } catch {
            outcome = .failure(error)
        }
        await bench.manager.shutdown()
        bench.loop.shutdown()
        return try outcome.get()
    }

    /// Connects to a namespace of a Socket.IO server, over the present wire.
    func socketIO(
        _ server: PythonServer, _ namespace: String = "/", scheme: String? = nil,
        credentials: CredentialSource = .none, configuration: SocketIOConfiguration = .init(),
        resuming resumption: Secret? = nil, options: (inout ConnectionOptions) -> Void = { _ in }
    ) async throws -> Client {
        var configuration = configuration
        configuration.carriers = Wire.current.carriers
        if server.isSecure { configuration.tls = server.tls }
        let scheme = scheme ?? (server.isSecure ? "https" : "http")
        let transport = self.transports.withLock { transports in
            let transport = transports[configuration] ?? SocketIOTransport(configuration, loop: self.loop)
            transports[configuration] = transport
            return transport
        }
        return try await self.client(
            "\(scheme)://127.0.0.1:\(server.port)\(namespace)", transport, credentials,
            resuming: resumption, options)
    }

    /// Connects to a raw WebSocket server.
    func webSocket(
        _ server: PythonServer, _ path: String = "/envelope", scheme: String? = nil,
        credentials: CredentialSource = .none, configuration: WebSocketConfiguration = .init(),
        options: (inout ConnectionOptions) -> Void = { _ in }
    ) async throws -> Client {
        var configuration = configuration
        if server.isSecure { configuration.tls = server.tls }
        let scheme = scheme ?? (server.isSecure ? "wss" : "ws")
        return try await self.client(
            "\(scheme)://127.0.0.1:\(server.port)\(path)", WebSocketTransport(configuration, loop: self.loop),
            credentials, options)
    }

    /// Connects to a URL.
    func client(
        _ url: String, _ transport: some Transport, _ credentials: CredentialSource = .none,
        resuming resumption: Secret? = nil, _ options: (inout ConnectionOptions) -> Void = { _ in }
    ) async throws -> Client {
        let configuration = try ConnectionBuilder(url)
            .transport(transport)
            .credentials(credentials)
            .resuming(resumption)
            .options {
                $0.retry = .quick
                options(&$0)
            }
            .build()
        return try await self.client(configuration)
    }

    /// Connects as configured.
    func client(_ configuration: ConnectionConfiguration) async throws -> Client {
        // On the loop's thread nothing can happen to the connection before its journals listen.
        let client = Lock<Result<Client, any Error>?>(nil)
        await withCheckedContinuation { continuation in
            self.loop.execute {
                let made = Result { try Client(self.manager.connect(configuration), loop: self.loop) }
                // Through a lock: the thread sanitizer does not see what a continuation orders.
                client.withLock { $0 = made }
                continuation.resume()
            }
        }
        return try #require(client.withLock { $0 }).get()
    }
}

extension ConnectionManager {
    /// One whose connections do not wait for a second before they come back again, so that the tests do not either.
    static var hasty: ConnectionManager {
        ConnectionManager(options: .init { $0.attempts.spacing = .milliseconds(50) })
    }
}

extension RetryPolicy {
    /// Comes back at once, for tests.
    static let quick = Self.backoff(
        firstSpread: .milliseconds(50), initial: .milliseconds(50), earlyCap: .milliseconds(200),
        cap: .milliseconds(200))
}

/// Everything that is proved against servers by other authors.
///
/// One test at a time: some stop their server for a moment, and what they prove is about time. The time limit is for a case
/// over all of its wires.
@Suite(.serialized, .sharedServers, .timeLimit(.minutes(4)))
enum Interop {}
