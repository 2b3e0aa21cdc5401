internal import Dispatch
public import Linkspan
public import LinkspanInMemory
internal import LinkspanNetwork
public import LinkspanRuntime

/// A server inside the process that speaks the real protocols: for tests of apps, for samples, for work without a
/// backend.
///
/// It carries an ``/LinkspanInMemory/InMemoryHub`` over the wire. What the hub does for its clients is written once,
/// and they may come in memory, over Socket.IO (WebSocket, long polling, or the upgrade from the one to the other) or
/// over a raw WebSocket with the JSON envelope, all at one port:
///
/// ```swift
/// let hub = InMemoryHub()
/// hub.onConnect { peer in
///     peer.on("say") { message in
///         hub.emit("message", message.payload)
///         message.reply(.empty)
///     }
/// }
/// let server = DevServer(hub: hub)
/// try await server.start()
/// let plan = MessagingPlan(url: server.socketIOURL, transport: .socketIO)
/// ```
///
/// Socket.IO is at the path `/socket.io/`, raw WebSockets are at any other. What a client shows in its headers and its
/// query is among the credentials of ``/LinkspanInMemory/HubPeer/request``. A handler of `onConnect` that throws
/// refuses the client: Socket.IO gets CONNECT_ERROR with the error's message, and its details or its code as data; a
/// WebSocket is closed with 4401.
///
/// A browser lets any page that a developer visits send requests to this machine. The server refuses the pages of other
/// sites, and requests under names that are not its own; see ``DevServerConfiguration/allowedOrigins`` and
/// ``DevServerConfiguration/allowedHosts``. Pages that are allowed get the CORS fields that let them read the answers.
///
/// It is no server for the open network: there is no TLS, and one thread.
public final class DevServer: Sendable {
    private enum Phase: Sendable {
        case stopped
        case changing
        case running(ServerRun)
    }

    private struct State: Sendable {
        var phase = Phase.stopped
        var port: Int
    }

    /// The options of the server.
    public let configuration: DevServerConfiguration
    private let hubs: [String: InMemoryHub]
    let scheduler: any Scheduler
    /// Set by the threads that operate the server, read on its loop.
    let faults = Lock(ServerFaults())
    /// Guards the run and the port, which any thread reads.
    private let state: Lock<State>

    /// Makes a server that has not started.
    ///
    /// - Parameters:
    ///   - hub: the hub for raw WebSockets and for the namespace `/` of Socket.IO.
    ///   - namespaces: the hubs of further namespaces of Socket.IO, by their names, such as `/admin`.
    ///   - configuration: where it listens, how it beats, and how much it takes.
    ///   - scheduler: the clock of its faults: delays and pauses. A test that gives server and client the same virtual clock sees a
    ///     slow answer and its timeout without waiting; heartbeats stay on the clock of the network.
    public init(
        hub: InMemoryHub, namespaces: [String: InMemoryHub] = [:], configuration: DevServerConfiguration = .init(),
        scheduler: any Scheduler = SystemScheduler.shared
    ) {
        self.scheduler = scheduler
        self.configuration = configuration
        self.hubs = namespaces.merging(["/": hub]) { _, main in main }
        self.state = Lock(State(port: configuration.port))
    }

    /// Ends a server that nobody holds and nobody has stopped.
    deinit {
        guard let run = self.beginStop() else { return }
        DispatchQueue.global().async { run.loop.shutdown() }
    }

    /// Begins to listen.
    ///
    /// A server that was stopped comes back at the port that it had.
    ///
    /// - Returns: the port.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `invalidConfiguration` when the address or port is not
    ///   available, or an allowed origin or host is invalid, and with `wrongState` unless the server is stopped.
    @discardableResult
    public func start() async throws(LinkspanError) -> Int {
        let rules = try AccessRules(self.configuration)
        guard let port = self.beginStart() else {
            throw LinkspanError(.wrongState, "the server is not stopped")
        }
        let run = ServerRun(
            self.configuration, rules: rules, hubs: self.hubs, faults: self.faults, scheduler: self.scheduler)
        do {
            let port = try await run.start(port: port)
            self.state.withLock { $0 = State(phase: .running(run), port: port) }
            return port
        } catch {
            await run.stop(gracefully: false)
            self.state.withLock { $0.phase = .stopped }
            throw LinkspanError(.invalidConfiguration, "the server cannot listen: \(error.message)", cause: error)
        }
    }

    /// Disconnects all clients, closes the port, and returns when the server's thread has ended.
    ///
    /// Does nothing unless the server runs. The hub is informed of the end of its clients.
    public func stop() async { await self.stop(gracefully: true) }

    func stop(gracefully: Bool) async {
        guard let run = self.beginStop() else { return }
        await run.stop(gracefully: gracefully)
        self.state.withLock { $0.phase = .stopped }
    }

    /// The port to listen at; nil unless the server is stopped.
    private func beginStart() -> Int? {
        self.state.withLock { state in
            guard case .stopped = state.phase else { return nil }
            state.phase = .changing
            return state.port
        }
    }

    /// The run to stop; nil unless the server runs.
    private func beginStop() -> ServerRun? {
        self.state.withLock { state in
            guard case .running(let run) = state.phase else { return nil }
            state.phase = .changing
            return run
        }
    }

    /// The port, while the server runs and after; the configured one before its first start.
    ///
    /// It has no meaning at a Unix-domain socket.
    public var port: Int { self.state.withLock { $0.port } }

    /// The URL for Socket.IO clients, in the namespace `/`.
    public var socketIOURL: String { "http://\(self.authority)/" }

    /// The URL for raw WebSockets.
    public var webSocketURL: String { "ws://\(self.authority)/" }

    private var authority: String { self.configuration.authority(port: self.port) }

    var run: ServerRun? {
        self.state.withLock { state in
            if case .running(let run) = state.phase { run } else { nil }
        }
    }
}
