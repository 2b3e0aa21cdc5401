internal import Linkspan
internal import LinkspanBackEnds
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// A server from one start to the next stop: its loop, its port, and everybody who is connected.
final class ServerRun: Sendable {
    fileprivate struct State {
        var listener: (any ByteListener)?
        var connections: Places<ServerConnection>
        var sessions: Places<EngineConnection>
        var isStopping = false
        var onEmpty: CheckedContinuation<Void, Never>?

        init(_ configuration: DevServerConfiguration) {
            let limit = configuration.limits.maximumConnections
            // When the system has no descriptor left, nobody could be told to go.
            let descriptors = max(1, DescriptorLimit.current - ServerRun.sparedDescriptors)
            self.connections = Places(limit: min(limit, descriptors))
            self.sessions = Places(limit: limit)
        }
    }

    /// The number of descriptors that are left to the rest of the process.
    fileprivate static let sparedDescriptors = 64
    /// The time that clients have to hear that the server goes.
    private static let farewell = Duration.milliseconds(500)

    let context: ServerContext
    let rules: AccessRules
    private let state: Confined<State>

    init(
        _ configuration: DevServerConfiguration, rules: AccessRules, hubs: [String: InMemoryHub],
        faults: Lock<ServerFaults>, scheduler: any Scheduler = SystemScheduler.shared, loop: (any NetworkLoop)? = nil
    ) {
        let loop = loop ?? configuration.network.makeLoop(name: "linkspan-dev-server", listens: true)
        self.context = ServerContext(configuration, hubs: hubs, faults: faults, scheduler: scheduler, loop: loop)
        self.rules = rules
        self.state = Confined(State(configuration), to: loop)
    }

    var loop: any NetworkLoop { self.context.loop }

    /// Changes the state in place.
    private func withState<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try body(&self.state.value)
    }

    /// Begins to listen; returns the port.
    func start(port: Int) async throws(ByteStreamError) -> Int {
        try await self.loop.perform { self.listen(port: port) }.get()
    }

    private func listen(port: Int) -> Result<Int, ByteStreamError> {
        Result { () throws(ByteStreamError) in
            let request = ListenRequest(
                address: self.context.configuration.address, port: port, path: self.context.configuration.socketPath)
            let listener = try self.loop.listen(request) { [weak self] stream in self?.accept(stream) }
            self.withState { $0.listener = listener }
            self.context.listens(at: listener.port)
            return listener.port
        }
    }

    /// Says goodbye to everybody, and returns when the loop has ended.
    func stop(gracefully: Bool) async {
        await withCheckedContinuation { continuation in
            self.loop.execute { self.stopListening { continuation.resume() } }
        }
        if gracefully, !self.context.faults.isStalled {
            self.loop.execute { self.sayGoodbye() }
            await self.emptied()
        } else {
            self.loop.execute { self.drop() }
        }
        await blocking { self.loop.shutdown() }
        self.loop.execute {
            // The hub gets the end of every client that was connected.
            for session in self.withState({ $0.sessions.all }) { session.drop() }
            self.context.dropAll()
            self.withState { state in
                state = State(self.context.configuration)
                state.isStopping = true
            }
        }
    }

    private func stopListening(_ onStopped: @escaping () -> Void) {
        let listener = self.withState { state in
            state.isStopping = true
            return state.listener
        }
        guard let listener else { return onStopped() }
        listener.close(onStopped)
    }

    /// Stops reading, or runs the jobs that waited and reads on.
    func stallingChanged() {
        self.loop.execute {
            let isStalled = self.context.faults.isStalled
            if !isStalled { self.context.runHeld() }
            for connection in self.withState({ $0.connections.all }) { connection.stream.setReadingPaused(isStalled) }
        }
    }

    // MARK: Connections and sessions

    private func accept(_ stream: any ByteStream) -> ServerConnection? {
        let connection = ServerConnection(stream: stream, self.context, server: self)
        switch self.withState({ $0.isStopping ? .refused : $0.connections.add(connection) }) {
        case .taken: ()
        case .takenFrom(let other): other.drop()
        case .refused: return nil
        }
        if self.context.faults.isStalled { stream.setReadingPaused(true) }
        connection.begin()
        return connection
    }

    func remove(_ connection: ServerConnection) {
        let waiter = self.withState { state in
            state.connections.remove(connection)
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Adds a session; false when all places are used.
    func add(_ session: EngineConnection) -> Bool {
        switch self.withState({ $0.sessions.add(session) }) {
        case .taken: return true
        case .takenFrom(let other):
            other.drop()
            return true
        case .refused: return false
        }
    }

    func session(_ sid: String) -> EngineConnection? { self.withState { $0.sessions[sid] } }

    func remove(_ session: EngineConnection) {
        self.withState { $0.sessions.remove(session) }
    }

    /// Drops every connection and forgets every session, as if the process had died.
    func drop() {
        self.context.dropHeld()
        let (connections, sessions) = self.withState { ($0.connections.all, $0.sessions.all) }
        for session in sessions { session.drop() }
        for connection in connections { connection.drop() }
    }

    private func sayGoodbye() {
        let connections = self.withState { $0.connections.all }
        for connection in connections { connection.close(.goingAway, reason: "the server is going away") }
    }

    private func emptied() async {
        await withCheckedContinuation { continuation in
            self.loop.execute {
                let waiter = self.withState { state in
                    state.onEmpty = continuation
                    return state.takeWaiter()
                }
                waiter?.resume()
                self.loop.scheduleLocally(after: Self.farewell) {
                    let late = self.withState { state in
                        defer { state.onEmpty = nil }
                        return state.onEmpty
                    }
                    late?.resume()
                }
            }
        }
    }
}

extension ServerRun.State {
    /// The waiter for the end of the last connection, once that has ended.
    fileprivate mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
        guard self.connections.isEmpty, let waiter = self.onEmpty else { return nil }
        self.onEmpty = nil
        return waiter
    }
}
