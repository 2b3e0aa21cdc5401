internal import Dispatch
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

    /// The time that a connection may rest between two requests.
    private static let restTimeout = Duration.seconds(75)

    let context: ServerContext
    let rules: AccessRules
    private let state: Confined<State>
    /// Fulfilled when the last connection of a server that stops has ended.
    private let allEnded = Promise<Void>()

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

    /// Begins to listen; returns the port.
    func start(port: Int) async throws(ByteStreamError) -> Int {
        try await self.loop.perform { self.listen(port: port) }.get()
    }

    private func listen(port: Int) -> Result<Int, ByteStreamError> {
        Result { () throws(ByteStreamError) in
            let request = ListenRequest(
                address: self.context.configuration.address, port: port, path: self.context.configuration.socketPath)
            let listener = try self.loop.listen(request) { [weak self] stream in self?.accept(stream) }
            self.state.value.listener = listener
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
        await withCheckedContinuation { continuation in
            // It blocks, on a thread where blocking harms nobody.
            DispatchQueue.global().async {
                self.loop.shutdown()
                continuation.resume()
            }
        }
        self.loop.execute {
            // The hub gets the end of every client that was connected.
            for session in self.state.value.sessions.all { session.drop() }
            self.context.dropAll()
            self.state.value = State(self.context.configuration)
            self.state.value.isStopping = true
        }
    }

    private func stopListening(_ onStopped: @escaping () -> Void) {
        self.state.value.isStopping = true
        guard let listener = self.state.value.listener else { return onStopped() }
        listener.close(onStopped)
    }

    /// Stops reading, or runs the jobs that waited and reads on.
    func stallingChanged() {
        self.loop.execute {
            let isStalled = self.context.faults.isStalled
            if !isStalled { self.context.runHeld() }
            for connection in self.state.value.connections.all { connection.stream.setReadingPaused(isStalled) }
        }
    }

    // MARK: Connections and sessions

    func makeConnection(over stream: any ByteStream) -> ServerConnection {
        let configuration = self.context.configuration
        var limits = ServerConnection.Limits(messageBytes: configuration.maximumMessageBytes)
        limits.waitingBytes = configuration.limits.maximumWaitingBytes
        limits.requestTimeout = configuration.limits.requestTimeout
        limits.restTimeout = Self.restTimeout
        return ServerConnection(stream: stream, clock: self.context, limits: limits, server: self)
    }

    private func accept(_ stream: any ByteStream) -> ServerConnection? {
        let connection = self.makeConnection(over: stream)
        guard !self.state.value.isStopping else { return nil }
        let (isTaken, former) = self.state.value.connections.add(connection)
        former?.drop()
        guard isTaken else { return nil }
        if self.context.faults.isStalled { stream.setReadingPaused(true) }
        connection.begin()
        return connection
    }

    func remove(_ connection: ServerConnection) {
        self.state.value.connections.remove(connection)
        self.checkAllEnded()
    }

    /// Adds a session; false when all places are used.
    func add(_ session: EngineConnection) -> Bool {
        let (isTaken, former) = self.state.value.sessions.add(session)
        former?.drop()
        return isTaken
    }

    func session(_ sid: String) -> EngineConnection? { self.state.value.sessions[sid] }

    func remove(_ session: EngineConnection) { self.state.value.sessions.remove(session) }

    /// Drops every connection and forgets every session, as if the process had died.
    func drop() {
        self.context.dropHeld()
        let (connections, sessions) = (self.state.value.connections.all, self.state.value.sessions.all)
        for session in sessions { session.drop() }
        for connection in connections { connection.drop() }
    }

    private func sayGoodbye() {
        for connection in self.state.value.connections.all {
            connection.close(.goingAway, reason: "the server is going away")
        }
    }

    private func emptied() async {
        self.loop.execute {
            self.checkAllEnded()
            self.loop.scheduleLocally(after: Self.farewell) { self.allEnded.fulfill() }
        }
        await self.allEnded.value
    }

    private func checkAllEnded() {
        if self.state.value.isStopping, self.state.value.connections.isEmpty { self.allEnded.fulfill() }
    }
}
