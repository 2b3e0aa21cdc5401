@testable import Linkspan
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

/// The pool as a value, with connections that never connect.
@Suite("The connections of a pool")
struct ConnectionPoolTests {
    /// A transport of another endpoint at the same URL.
    private struct Placed: Transport {
        let base: ScriptedTransport
        let endpoint: String
        var name: String { self.base.name }
        var schemes: Set<String> { self.base.schemes }
        var executor: any JobExecutor { self.base.executor }

        func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
            self.base.makeLink(request, receiver: receiver)
        }
    }

    private let transport = ScriptedTransport(scheduler: VirtualScheduler()) { _ in .perfect }
    private let user = CredentialSource.fixed(Credentials(headers: [.init("Authorization", "ann")]))
    private let now = Moment.now
    private var pool = ConnectionPool(attempts: AttemptBudget(AttemptLimits()))

    private func key(
        _ host: String, _ source: CredentialSource = .none, endpoint: String = ""
    ) throws -> ConnectionPool.Key {
        let transport = Placed(base: self.transport, endpoint: endpoint)
        let builder = ConnectionBuilder("scripted://\(host)").transport(transport).credentials(source)
        return ConnectionPool.Key(try builder.build())
    }

    private mutating func add(
        _ key: ConnectionPool.Key, store: (any DeliveryStore)? = nil
    ) throws -> PooledConnection {
        let connection = try Harness().connection
        var options = ConnectionOptions()
        options.store = store
        #expect(try self.pool.add(connection, key, options, [:]))
        return connection
    }

    @Test
    mutating func `a URL has credentials as long as a connection with some has its place`() throws {
        let (plain, known) = (try self.key("server"), try self.key("server", self.user))
        _ = try self.add(plain)
        #expect(!self.pool.hasAuthenticated(plain.url))
        let connection = try self.add(known)
        #expect(self.pool.hasAuthenticated(plain.url))
        #expect(self.pool.discard(connection) != nil)
        #expect(!self.pool.hasAuthenticated(plain.url))
    }

    @Test
    mutating func `a key that another connection has taken is left to it`() throws {
        let (key, next) = (try self.key("a"), try self.key("b"))
        let moving = try self.add(key)
        #expect(try self.pool.beginMove(moving, to: next))
        let other = try self.add(key)
        #expect(self.pool.endMove(moving, nil, now: self.now) != nil)
        #expect(self.pool.entry(for: key)?.connection === other)
        #expect(try self.pool.beginMove(moving, to: next))
        #expect(self.pool.entry(for: key)?.connection === other)
        #expect(self.pool.endMove(moving, nil, now: self.now) != nil)
        #expect(self.pool.discard(moving) != nil)
        #expect(self.pool.entry(for: key)?.connection === other)
    }

    @Test
    mutating func `a source loses the connections that move to it, and those that have left, once`() throws {
        let moving = try self.add(try self.key("a"))
        #expect(try self.pool.beginMove(moving, to: try self.key("b", self.user)))
        let leaving = try self.add(try self.key("c", self.user))
        self.pool.vacate(leaving, now: self.now)
        #expect(self.pool.withdraw(leaving, now: self.now) != nil)
        let (entries, leavers) = self.pool.removeAll(of: self.user)
        #expect(entries.map { ObjectIdentifier($0.connection) } == [ObjectIdentifier(moving)])
        #expect(leavers.map { ObjectIdentifier($0.connection) } == [ObjectIdentifier(leaving)])
        #expect(self.pool.removeAll(of: self.user).leavers.isEmpty)
    }

    @Test
    mutating func `a connection that moves leaves its source only for another`() throws {
        let moving = try self.add(try self.key("a", self.user))
        #expect(try self.pool.beginMove(moving, to: try self.key("b", self.user)))
        #expect(self.pool.endMove(moving, (ConnectionOptions(), [:]), now: self.now) != nil)
        #expect(try self.pool.beginMove(moving, to: try self.key("b")))
        #expect(self.pool.endMove(moving, (ConnectionOptions(), [:]), now: self.now) != nil)
        #expect(self.pool.removeAll(of: self.user).leavers.count == 1)
    }

    @Test
    mutating func `a connection may move to where it is`() throws {
        let key = try self.key("a")
        let moving = try self.add(key)
        #expect(try self.pool.beginMove(moving, to: key))
        #expect(self.pool.endMove(moving, (ConnectionOptions(), [:]), now: self.now) != nil)
        #expect(self.pool.entry(for: key)?.connection === moving)
    }

    @Test
    mutating func `a store serves one endpoint at a time, as long as somebody holds its connection`() throws {
        let store = MemoryDeliveryStore()
        let first = try self.add(try self.key("a", endpoint: "one"), store: store)
        #expect(throws: LinkspanError.self) {
            try self.add(try self.key("a", endpoint: "other"), store: store)
        }
        self.pool.vacate(first, now: self.now)
        _ = try self.add(try self.key("b"), store: store)
    }
}

@Suite("The pool", .timeLimit(.minutes(1)))
struct PoolTests {
    @Test
    func `one URL in any spelling is one connection, another URL another`() throws {
        let harness = PoolHarness()
        let handlers = try [
            "scripted://server", "SCRIPTED://SERVER/", "scripted://server/%7Ea", "scripted://server/~a",
        ]
        .map { url in try harness.connect(url) }
        harness.scheduler.settle()
        #expect(harness.transport.peers.count == 2)
        #expect(harness.manager.statistics.map(\.holders) == [2, 2])
        withExtendedLifetime(handlers) {}
    }

    @Test
    func `a connection that is held again is no longer watched`() throws {
        let harness = PoolHarness()
        let first = try harness.connect()
        harness.scheduler.settle()
        let connection = first.connection
        let observers = try connection.ask { $0.reader.incoming.observers.ids.count }
        first.release()
        let second = try harness.connect()
        #expect(second.connection === connection)
        #expect(try connection.ask { $0.reader.incoming.observers.ids.count } == observers)
    }

    @Test
    func `a prepared connection is opened by connect, and its listeners are there first`() throws {
        let harness = PoolHarness()
        let configuration = try ConnectionBuilder("scripted://server").transport(harness.transport).build()
        let handler = try harness.manager.prepare(configuration)
        let states = Lock<[ConnectionState]>([])
        handler.onStateChange { change in states.withLock { $0.append(change.to) } }
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.transport.peers.isEmpty && handler.state == .created)
        let other = try harness.manager.prepare(configuration)
        try other.connect()
        harness.scheduler.settle()
        #expect(harness.transport.peers.count == 1 && handler.state == .connected)
        #expect(states.withLock { $0 } == [.connected])
        #expect(harness.manager.statistics.map(\.holders) == [2])
    }

    @Test
    func `conflicting options are named, with both values`() throws {
        let harness = PoolHarness()
        let handler = try harness.connect()
        let error = #expect(throws: LinkspanError.self) {
            _ = try harness.connect("scripted://server?token=secret") { _ in }
            _ = try harness.connect("scripted://server") {
                $0.idleTimeout = .seconds(9)
                $0.buffer.overflow = .dropOldest
            }
        }
        #expect(error?.code == .conflictingOptions)
        #expect(error?.message.contains("idleTimeout (5.0 seconds, wanted 9.0 seconds)") == true)
        #expect(error?.message.contains("buffer (1000/4194304/refuse, wanted 1000/4194304/dropOldest)") == true)
        #expect(error?.message.contains("openDeadline") == false)
        #expect(error?.message.contains("secret") == false)
        #expect(harness.manager.statistics.first { $0.status.url.query == nil }?.holders == 1)
        withExtendedLifetime(handler) {}
    }

    @Test
    func `a thousand requests at once make one connection`() async throws {
        let harness = PoolHarness()
        let handlers = try await withThrowingTaskGroup(of: ConnectionHandler.self) { group in
            for _ in 0..<1_000 { group.addTask { try harness.connect() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        harness.scheduler.settle()
        #expect(handlers.count == 1_000)
        #expect(harness.transport.peers.count == 1)
        #expect(harness.manager.statistics.map(\.holders) == [1_000])
        await withDiscardingTaskGroup { group in
            for handler in handlers { group.addTask { handler.release() } }
        }
        #expect(harness.manager.statistics.map(\.holders) == [0])
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.manager.statistics.isEmpty)
    }

    @Test
    func `the connection stays up for its idle timeout, and a new holder in time keeps it`() throws {
        let harness = PoolHarness()
        let first = try harness.connect()
        harness.scheduler.settle()
        first.release()
        harness.scheduler.advance(by: .milliseconds(4_999))
        #expect(harness.manager.statistics.map(\.status.state) == [.connected])
        let second = try harness.connect()
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.transport.peers.count == 1)
        second.release()
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.manager.statistics.isEmpty)
        #expect(harness.transport.openPeers.isEmpty)
    }

    @Test
    func `letting go of the handler gives the connection back`() throws {
        let harness = PoolHarness()
        do {
            let handler = try harness.connect { $0.idleTimeout = .zero }
            #expect(handler.state == .created)
        }
        #expect(harness.manager.statistics.isEmpty)
    }

    @Test
    func `a connection that was released is made anew by the next holder`() throws {
        let harness = PoolHarness()
        for _ in 0..<3 {
            let handler = try harness.connect { $0.idleTimeout = .zero }
            harness.scheduler.settle()
            #expect(handler.state == .connected)
            handler.release()
        }
        #expect(harness.transport.peers.count == 3)
        #expect(harness.transport.openPeers.isEmpty)
    }

    @Test
    func `a released handler refuses everything and hears nothing, while the others go on`() throws {
        let harness = PoolHarness()
        let (first, second) = (try harness.connect(), try harness.connect())
        let (heardByFirst, heardBySecond) = (EventRecorder(), EventRecorder())
        try heardByFirst.watch(first)
        try heardBySecond.watch(second)
        harness.scheduler.settle()
        first.release()
        first.release()
        harness.transport.peers.first?.emit("event")
        harness.scheduler.settle()
        #expect(heardByFirst.messages.isEmpty)
        #expect(heardBySecond.messages.count == 1)
        let calls: [() throws -> Void] = [
            { try first.send("event") }, first.connect, first.reconnectNow, { try first.disconnect() },
            { try first.disconnect(code: 1_000) }, { try first.on("event") { _ in } },
        ]
        func refusals() -> [LinkspanError.Code?] {
            calls.map { call in #expect(throws: LinkspanError.self) { try call() }?.code }
        }
        #expect(refusals() == calls.map { _ in .released })
        #expect(second.state == .connected)
        _ = first.onStateChange { heardByFirst.record(.state($0)) }
        try second.disconnect()
        #expect(refusals() == calls.map { _ in .released })
        #expect(second.state == .disconnected)
        #expect(heardByFirst.states == [.connected])
        #expect(harness.manager.statistics.map(\.holders) == [1])
    }

    @Test
    func `a handler keeps nothing of the subscriptions and streams that have ended`() throws {
        let harness = PoolHarness()
        let handler = try harness.connect()
        let witness = Witness()
        for _ in 0..<10 {
            let subscription = try handler.on("event") { [held = Held(witness)] _ in held.touch() }
            subscription.cancel()
            handler.onStateChange { [held = Held(witness)] _ in held.touch() }.cancel()
            _ = try handler.events("event")
        }
        #expect(witness.count == 0)
        #expect(handler.subscriptionCount == 0)
    }

    @Test
    func `shutdown releases what is held, and ends every stream and every command`() async throws {
        let harness = PoolHarness { _ in .hanging }
        let recorder = EventRecorder()
        let handler = try harness.connect()
        try handler.perform(
            Command(.send, event: "event", payload: .empty, completion: recorder.completion("event")))
        let stream = try handler.events("event")
        let ended = Counter()
        let shutdown = Task {
            await harness.manager.shutdown()
            for await _ in stream {}
            ended.increment()
        }
        try await eventually(turn: { harness.scheduler.advance(by: .seconds(1)) }) { ended.value > 0 }
        await shutdown.value
        #expect(handler.state == .released)
        #expect(recorder.outcomes("event").count == 1)
        #expect(harness.manager.statistics.isEmpty)
    }

    @Test
    func `a manager that goes away takes its connections down, but not before their holders`() throws {
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler)
        var handler: ConnectionHandler?
        weak var manager: ConnectionManager?
        do {
            let made = ConnectionManager(
                options: .init {
                    $0.scheduler = scheduler
                })
            manager = made
            handler = try ConnectionBuilder("scripted://server").transport(transport).connect(by: made)
        }
        scheduler.settle()
        #expect(manager != nil)
        #expect(handler?.state == .connected)
        handler = nil
        scheduler.advance(by: .seconds(30))
        #expect(manager == nil)
        #expect(transport.openPeers.isEmpty)
    }

    @Test
    func `a released connection is freed, with its links, timers and listeners`() throws {
        let harness = PoolHarness()
        let witness = Witness()
        weak var connection: PooledConnection?
        do {
            let handler = try harness.connect { $0.idleTimeout = .zero }
            connection = handler.connection
            try handler.on("event") { [held = Held(witness)] _ in held.touch() }
            _ = handler.onStateChange { [held = Held(witness)] _ in held.touch() }
            try handler.perform(
                Command(.request, event: "request", payload: .empty, timeout: .seconds(30)) {
                    [held = Held(witness)] _ in
                    held.touch()
                })
            harness.scheduler.settle()
            #expect(witness.count == 3)
        }
        harness.scheduler.advance(by: .seconds(60))
        #expect(connection == nil)
        #expect(witness.count == 0)
    }

    @Test
    func `a released connection that had a link keeps nothing of its configuration`() throws {
        let harness = PoolHarness()
        // Unlike a scripted transport, a hub does not remember links, which hold the connection's receiver.
        let hub = InMemoryHub(executor: harness.scheduler.executor)
        let witness = Witness()
        do {
            let policy = RetryPolicy { [held = Held(witness)] _ in
                held.touch()
                return nil
            }
            let handler = try ConnectionBuilder("memory://lobby").transport(.inMemory(hub))
                .options {
                    $0.idleTimeout = .zero
                    $0.retry = policy
                }
                .connect(by: harness.manager)
            harness.scheduler.settle()
            #expect(handler.state == .connected)
            #expect(witness.count == 1)
        }
        harness.scheduler.advance(by: .seconds(60))
        #expect(witness.count == 0)
    }

    @Test
    func `the end of a handler that was released before is told on the executor, not within the call`() async throws {
        let (manager, recorder, held) = (ConnectionManager(), EventRecorder(), Lock(()))
        let handler = try ConnectionBuilder("memory://server").transport(.inMemory(InMemoryHub())).connect(by: manager)
        handler.release()
        held.withLock { _ in _ = handler.onEnd { held.withLock { _ in recorder.note("ended") } } }
        try await recorder.wait(for: "the end") { _ in recorder.notes == ["ended"] }
        await manager.shutdown()
    }

    @Test
    func `a refusal of credentials that a developer provokes drops the link, and refuses the next one alone`() throws {
        let harness = PoolHarness()
        let connection = try harness.connect()
        harness.scheduler.settle()
        let (inspected, recorder) = (try #require(harness.manager.inspected.first), EventRecorder())
        connection.onStateChange { if let error = $0.reason.error { recorder.note("\($0.to) \(error.code.rawValue)") } }
        inspected.provoke(.refuseCredentialsOnce)
        harness.scheduler.advance(by: .seconds(10))
        #expect(
            recorder.notes == [
                "disconnected connectionLost", "reconnecting connectionLost", "disconnected credentialsRefused",
            ])
        try connection.connect()
        harness.scheduler.settle()
        #expect(connection.state == .connected)
    }
}
