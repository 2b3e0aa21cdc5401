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
        var buffered: ByteBudget
        /// The work for the time when the server is no longer stalled.
        var held: [() -> Void] = []
        /// The work for bytes that arrived and are looked at later, and the time of the last of it.
        var delayed: [() -> Void] = []
        var delayedUntil: ContinuousClock.Instant?
        var isStopping = false
        var onEmpty: CheckedContinuation<Void, Never>?

        init(_ configuration: DevServer.Configuration) {
            let (limit, limitPerAddress) = (configuration.maximumConnections, configuration.maximumPerAddress)
            // When the system has no descriptor left, nobody could be told to go.
            let descriptors = max(1, DescriptorLimit.current - ServerRun.sparedDescriptors)
            self.connections = Places(limit: min(limit, descriptors), limitPerAddress: limitPerAddress)
            self.sessions = Places(limit: limit, limitPerAddress: limitPerAddress)
            self.buffered = ByteBudget(limit: configuration.maximumBufferedBytes)
        }
    }

    /// The most jobs that a stalled server keeps; then it drops everybody.
    private static let maximumHeld = 65_536
    /// The number of descriptors that are left to the rest of the process.
    fileprivate static let sparedDescriptors = 64
    /// The time that clients have to hear that the server goes.
    private static let farewell = Duration.milliseconds(500)

    let loop: any NetworkLoop
    let configuration: DevServer.Configuration
    let hubs: [String: InMemoryHub]
    let condition: ServerCondition
    let rules: AccessRules
    /// The clock of delays.
    private let scheduler: any Scheduler
    private let state: Confined<State>

    init(
        _ configuration: DevServer.Configuration, rules: AccessRules, hubs: [String: InMemoryHub],
        condition: ServerCondition, scheduler: any Scheduler = SystemScheduler.shared,
        loop: (any NetworkLoop)? = nil
    ) {
        self.scheduler = scheduler
        self.loop = loop ?? configuration.network.makeLoop(name: "linkspan-dev-server", listens: true)
        self.configuration = configuration
        self.hubs = hubs
        self.condition = condition
        self.rules = rules
        self.state = Confined(State(configuration), to: self.loop)
    }

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
                address: self.configuration.address, port: port, path: self.configuration.socketPath)
            let listener = try self.loop.listen(request) { [weak self] stream in self?.accept(stream) }
            self.withState { $0.listener = listener }
            return listener.port
        }
    }

    /// Says goodbye to everybody, and returns when the loop has ended.
    func stop(gracefully: Bool) async {
        await withCheckedContinuation { continuation in
            self.loop.execute { self.stopListening { continuation.resume() } }
        }
        if gracefully, !self.condition.isStalled {
            self.loop.execute { self.sayGoodbye() }
            await self.emptied()
        } else {
            self.loop.execute { self.drop() }
        }
        await blocking { self.loop.shutdown() }
        self.loop.execute {
            // The hub is to hear of those who were there to the end.
            for session in self.withState({ $0.sessions.all }) { session.drop() }
            self.withState { state in
                state = State(self.configuration)
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

    /// The URL that clients connect to, for the hub.
    func url(path: String) -> ConnectionURL? {
        let port = self.withState { $0.listener?.port } ?? self.configuration.port
        let authority = self.configuration.authority(port: port)
        return (try? ConnectionURL("http://\(authority)\(path)")) ?? (try? ConnectionURL("http://\(authority)/"))
    }

    // MARK: Jobs

    /// Does something on the loop's thread, or when the server is no longer stalled.
    func perform(_ job: @escaping () -> Void) { self.loop.executeLocally { self.performNow(job) } }

    /// Does something later.
    func schedule(after delay: Duration, _ job: @escaping () -> Void) -> any ScheduledWork {
        self.loop.scheduleLocally(after: delay) { [weak self] in self?.performNow(job) }
    }

    /// Looks at bytes that have arrived: now, or when the delay is over.
    func arrive(_ job: @escaping () -> Void) {
        let delay = self.condition.delay
        let now = self.scheduler.now
        let due = self.withState { state -> ContinuousClock.Instant? in
            guard delay > .zero || !state.delayed.isEmpty else { return nil }
            state.delayed.append(job)
            // Never before what arrived earlier.
            let due = max(state.delayedUntil ?? now, now + delay)
            state.delayedUntil = due
            return due
        }
        guard let due else { return self.performNow(job) }
        // One job for each turn, the oldest first: timers that are due together come in any order.
        let turn = { @Sendable in
            guard let job = self.withState({ $0.takeDelayed() }) else { return }
            self.performNow(job)
        }
        // A virtual clock that stands still runs no timer for what is due.
        if due > now { _ = self.scheduler.schedule(at: due, on: self.loop, turn) } else { self.loop.execute(turn) }
    }

    func performNow(_ job: @escaping () -> Void) {
        let held = self.withState { state -> Int? in
            // What is held back goes first, also when the server has just come to life.
            guard self.condition.isStalled || !state.held.isEmpty else { return nil }
            state.held.append(job)
            return state.held.count
        }
        guard let held else { return job() }
        if held > Self.maximumHeld { self.drop() }
    }

    /// Stops to read, or reads on and does what was held back.
    func stallingChanged() {
        self.loop.execute {
            let isStalled = self.condition.isStalled
            let (connections, held) = self.withState { state in
                defer { if !isStalled { state.held = [] } }
                return (state.connections.all, isStalled ? [] : state.held)
            }
            for job in held { job() }
            for connection in connections { connection.stream.setReadingPaused(isStalled) }
        }
    }

    // MARK: Who is there

    private func accept(_ stream: any ByteStream) -> ServerConnection? {
        let connection = ServerConnection(stream: stream, run: self)
        switch self.withState({ $0.isStopping ? .refused : $0.connections.add(connection) }) {
        case .taken: ()
        case .takenFrom(let other): other.drop()
        case .refused: return nil
        }
        if self.condition.isStalled { stream.setReadingPaused(true) }
        connection.begin()
        return connection
    }

    func remove(_ connection: ServerConnection) {
        let waiter = self.withState { state in
            state.connections.remove(connection)
            state.buffered.remove(connection)
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
        self.withState { state in
            state.sessions.remove(session)
            state.buffered.remove(session)
        }
    }

    /// Updates the count of a client's buffered bytes, and drops the client with the most when the sum exceeds the limit.
    func count(_ owner: any BufferOwner) { self.withState { $0.buffered.count(owner) }?.drop() }

    /// Drops every connection and forgets every session, as if the process had died.
    func drop() {
        let (connections, sessions) = self.withState { state in
            state.held = []
            return (state.connections.all, state.sessions.all)
        }
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
    fileprivate mutating func takeDelayed() -> (() -> Void)? {
        self.delayed.isEmpty ? nil : self.delayed.removeFirst()
    }

    /// The waiter for the end of the last connection, once that has ended.
    fileprivate mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
        guard self.connections.isEmpty, let waiter = self.onEmpty else { return nil }
        self.onEmpty = nil
        return waiter
    }
}
