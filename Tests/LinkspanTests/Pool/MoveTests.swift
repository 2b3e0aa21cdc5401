internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@testable import Linkspan

@Suite("Moving", .timeLimit(.minutes(1)))
struct MoveTests {
    private let harness = PoolHarness()
    private let recorder = EventRecorder()

    private func deliver(_ event: String, over handler: ConnectionHandler) throws {
        try handler.perform(
            Command(
                .deliver(orderingKey: "say"), event: event, payload: .empty, completion: self.recorder.completion(event)
            ))
    }

    @Test
    func `a connection that is up moves at once, with its listeners and holders`() throws {
        let handler = try self.harness.connect()
        self.harness.scheduler.settle()
        let heard = Lock<[String]>([])
        try handler.on("news") { message in heard.withLock { $0.append(message.event) } }
        let states = Lock<[String]>([])
        let news = handler.onStateChange { change in
            states.withLock { $0.append("\(change.from) to \(change.to) \(change.reason.error?.code.rawValue ?? "-")") }
        }
        let next = try self.harness.configuration("scripted://other")
        #expect(try self.harness.manager.move(handler, to: next))
        self.harness.scheduler.settle()
        #expect(handler.status.url.text == "scripted://other/")
        #expect(handler.state == .connected)
        #expect(
            states.withLock { $0 } == [
                "created to connected -", "connected to disconnected moved", "disconnected to reconnecting moved",
                "reconnecting to connected -",
            ])
        let urls = self.harness.transport.peers.map { $0.request.url.text }
        #expect(urls == ["scripted://server/", "scripted://other/"])
        #expect(self.harness.transport.openPeers.count == 1)
        self.harness.transport.openPeers.first?.emit("news", .empty)
        self.harness.scheduler.settle()
        #expect(heard.withLock { $0 } == ["news"])
        #expect(self.harness.manager.statistics.map(\.holders) == [1])
        #expect(self.harness.manager.statistics.map { $0.status.url.text } == ["scripted://other/"])
        news.cancel()
    }

    @Test
    func `a connection that moves begins with the first endpoint again`() throws {
        let isDown = Lock(true)
        self.harness.transport.onConnect { peer throws(LinkspanError) in
            if peer.request.url.host == "server", isDown.withLock({ $0 }) { throw .lost }
        }
        func set(_ options: inout ConnectionOptions) { options.endpoints = Endpoints(urls: ["scripted://b"]) }
        let handler = try self.harness.connect("scripted://server", set)
        self.harness.scheduler.advance(by: .seconds(4))
        #expect(handler.status.endpoint.host == "b")
        isDown.withLock { $0 = false }
        let ann = try ConnectionBuilder("scripted://server").transport(self.harness.transport)
            .credentials(.fixed(Credentials(), account: "ann")).options(set).build()
        #expect(try self.harness.manager.move(handler, to: ann))
        self.harness.scheduler.settle()
        #expect(handler.status.endpoint.host == "server")
    }

    @Test
    func `waiting deliveries arrive at the new endpoint, in order and once`() throws {
        self.harness.transport.onMessage { $0.reply($0.payload) }
        let handler = try self.harness.connect()
        self.harness.scheduler.settle()
        try handler.disconnect()
        for number in 1...20 { try self.deliver("line \(number)", over: handler) }
        let next = try self.harness.configuration("scripted://other")
        try self.harness.manager.move(handler, to: next)
        self.harness.scheduler.settle()
        #expect(handler.state == .disconnected, "down on purpose stays down")
        #expect(self.harness.transport.received.isEmpty)
        try handler.connect()
        self.harness.scheduler.advance(by: .seconds(1))
        #expect(self.harness.transport.received.map(\.event) == (1...20).map { "line \($0)" })
        for number in 1...20 { #expect(self.recorder.outcomes("line \(number)").count == 1) }
    }

    @Test
    func `a move in the middle of an attempt leaves it, and one that was given up tries again`() throws {
        let harness = PoolHarness { link in link < 3 ? .hanging : .perfect }
        let handler = try harness.connect()
        harness.scheduler.settle()
        #expect(handler.state == .created)
        try harness.manager.move(handler, to: try harness.configuration("scripted://second"))
        harness.scheduler.settle()
        #expect(handler.state == .created)
        try harness.manager.move(handler, to: try harness.configuration("scripted://third"))
        harness.scheduler.settle()
        #expect(handler.state == .connected)
        #expect(harness.transport.openPeers.map { $0.request.url.text } == ["scripted://third/"])

        let refusing = PoolHarness { link in link == 1 ? .refusing(.permanent) : .perfect }
        let failed = try refusing.connect()
        refusing.scheduler.settle()
        #expect(failed.state == .disconnected)
        try refusing.manager.move(failed, to: try refusing.configuration("scripted://second"))
        refusing.scheduler.settle()
        #expect(failed.state == .connected)
    }

    @Test
    func `a move to an existing connection is refused and changes nothing`() throws {
        let handler = try self.harness.connect()
        let other = try self.harness.connect("scripted://other")
        self.harness.scheduler.settle()
        let taken = #expect(throws: LinkspanError.self) {
            try self.harness.manager.move(handler, to: try self.harness.configuration("scripted://other"))
        }
        #expect(taken?.code == .conflictingOptions)
        let fixed = #expect(throws: LinkspanError.self) {
            let next = try self.harness.configuration("scripted://new") {
                $0.deliveries.keyPlacement = .lastArgument
                $0.greeting = Greeting("in a test") { _ in }
                $0.store = MemoryDeliveryStore()
            }
            try self.harness.manager.move(handler, to: next)
        }
        #expect(
            fixed?.message == "these options of a connection cannot change: deliveries.keyPlacement, greeting, store")
        #expect(
            self.harness.manager.statistics.map { $0.status.url.text } == ["scripted://other/", "scripted://server/"])
        #expect(self.harness.transport.peers.count == 2)
        let nobody = try self.harness.configuration("scripted://nobody")
        #expect(try !self.harness.manager.move(nobody, to: try self.harness.configuration()))
        withExtendedLifetime(other) {}
    }

    @Test
    func `a move to another source cancels the call of the former one's provider`() async throws {
        let provider = GatedProvider()
        let source = CredentialSource.provider { try await provider.credentials(for: $0) }
        let handler = try ConnectionBuilder("scripted://server").transport(self.harness.transport).credentials(source)
            .connect(by: self.harness.manager)
        try await provider.called(1, self.harness.scheduler)
        try self.harness.manager.move(handler, to: try self.harness.configuration("scripted://other"))
        try await eventually("the cancellation", self.harness.scheduler) { provider.cancelled == [1] }
    }

    @Test
    func `the last holder of a connection that moved still lets it go`() throws {
        let handler = try self.harness.connect()
        self.harness.scheduler.settle()
        try self.harness.manager.move(handler, to: try self.harness.configuration("scripted://other"))
        handler.release()
        self.harness.scheduler.advance(by: .seconds(6))
        #expect(self.harness.manager.statistics.isEmpty)
        #expect(self.harness.transport.openPeers.isEmpty)
    }

    /// Performs A behind something that moves the connection in the same turn, and B as late as in its callback.
    private func performAround(_ next: ConnectionConfiguration) throws -> PooledConnection {
        let handler = try self.harness.connect()
        self.harness.scheduler.settle()
        try handler.disconnect()
        self.harness.scheduler.settle()
        let connection = handler.connection
        let commands = ["A", "B"].map {
            Command(.send, event: $0, payload: .empty, completion: self.recorder.completion($0))
        }
        let executor = self.harness.scheduler.executor
        executor.execute {
            _ = connection.onStatusChange { _ in
                guard connection.url != next.url else { return }
                try? connection.core.submit(commands[1], made: nil)
                try? connection.move(to: next)
            }
            try? connection.core.submit(commands[0], made: nil)
        }
        #expect(connection.url == next.url)
        try connection.connect()
        self.harness.scheduler.settle()
        withExtendedLifetime(handler) {}
        return connection
    }

    @Test
    func `a callback that moves keeps what was sent before in order`() throws {
        let connection = try self.performAround(self.harness.configuration("scripted://other"))
        #expect(connection.state == .connected)
        #expect(self.harness.transport.received.map(\.event) == ["A", "B"])
    }

    @Test
    func `a callback that moves to another user sends nothing that came before it`() throws {
        let next = try ConnectionBuilder("scripted://other").transport(self.harness.transport)
            .credentials(.fixed(Credentials(auth: ["user": "bob"]))).build()
        let connection = try self.performAround(next)
        #expect(connection.state == .connected)
        #expect(self.harness.transport.received.isEmpty)
        for event in ["A", "B"] {
            guard case .failure(let error)? = self.recorder.outcomes(event).first else {
                Issue.record("\(event) has no outcome")
                continue
            }
            #expect(error.code == .moved)
        }
    }

    /// The turn in which deliveries get their outcomes moves the connection; an assertion watches what follows it.
    @Test
    func `a delivery in the turn of a move to another executor ends, and the connection goes on there`() throws {
        let (store, scheduler) = (MemoryDeliveryStore(executor: TestExecutor()), VirtualScheduler())
        let other = ScriptedTransport(scheduler: scheduler)
        let handler = try ConnectionBuilder("scripted://server").transport(self.harness.transport)
            .credentials(.fixed(Credentials(), account: "ann")).options { $0.store = store }
            .connect(by: self.harness.manager)
        self.harness.scheduler.settle()
        try handler.disconnect()
        let connection = handler.connection
        let next = try ConnectionBuilder("scripted://other").transport(other)
            .credentials(.fixed(Credentials(), account: "bob")).options { $0.store = store }.build()
        let command = Command(
            .deliver(orderingKey: "say"), event: "kept", payload: .empty, completion: self.recorder.completion("kept"))
        self.harness.scheduler.executor.execute {
            try? connection.perform(command)
            try? connection.move(to: next)
        }
        #expect(self.recorder.outcomes("kept").count == 1)
        try connection.connect()
        scheduler.settle()
        #expect(connection.state == .connected)
        #expect(other.openPeers.count == 1)
        withExtendedLifetime(handler) {}
    }

    @Test
    func `other limits hold at once, on the link there is`() throws {
        let handler = try self.harness.connect()
        self.harness.scheduler.settle()
        try handler.disconnect()
        var options = ConnectionOptions()
        options.buffer.commands = 2
        #expect(try self.harness.manager.adjust(handler, options))
        for _ in 1...2 { try handler.send("kept") }
        let full = #expect(throws: LinkspanError.self) { try handler.send("refused") }
        #expect(full?.code == .bufferFull)
        #expect(self.harness.transport.peers.count == 1)
        let again = try self.harness.connect { $0.buffer.commands = 2 }
        #expect(again.status.waitingCommands == 2)
        options.buffer.commands = 0
        let invalid = #expect(throws: LinkspanError.self) { try self.harness.manager.adjust(handler, options) }
        #expect(invalid?.code == .invalidConfiguration)
    }
}

@Suite("Moving from a callback", .timeLimit(.minutes(1)))
struct MoveInCallbackTests {
    private let harness = PoolHarness { _ in .init { $0.tellsResumption = true } }
    private let heard = Lock<[String]>([])

    private func configuration(
        _ user: String, _ url: String = "scripted://server"
    ) throws(LinkspanError) -> ConnectionConfiguration {
        try ConnectionBuilder(url).transport(self.harness.transport)
            .credentials(.fixed(.auth(user), account: user)).build()
    }

    private func connect(_ user: String) throws -> ConnectionHandler {
        let handler = try self.configuration(user).connect(by: self.harness.manager)
        self.harness.scheduler.settle()
        return handler
    }

    private func emit(_ numbers: ClosedRange<Int>) {
        for number in numbers { self.harness.transport.openPeers.first?.emit("line", .json("\(number)")) }
        self.harness.scheduler.settle()
    }

    /// Adds a listener that notes the message, and the user and the session when it has moved the connection.
    private func addMover(_ handler: ConnectionHandler, to next: ConnectionConfiguration) throws {
        try handler.on("line") { [heard, manager = self.harness.manager] message in
            heard.withLock { $0.append("mover \(message.payload.text)") }
            guard handler.status.url != next.url || handler.status.account != next.credentials.account else { return }
            #expect(throws: Never.self) { try manager.move(handler, to: next) }
            let status = handler.status
            heard.withLock { $0.append("\(status.account ?? "nobody") \(status.resumption?.exposed ?? "anew")") }
        }
    }

    private func addListener(_ handler: ConnectionHandler) throws {
        try handler.on("line") { [heard] message in heard.withLock { $0.append(message.payload.text) } }
    }

    @Test
    func `a message that moves the connection to another user reaches no listener behind, nor does its session`() throws
    {
        let handler = try self.connect("ann")
        try self.addMover(handler, to: self.configuration("bob"))
        try self.addListener(handler)
        self.emit(1...2)
        #expect(self.heard.withLock { $0 } == ["mover 1", "bob anew"])
        #expect(self.harness.transport.peers.map(\.request.token) == ["ann", "bob"])
        #expect(self.harness.transport.peers.allSatisfy { $0.request.resumption == nil })
        self.heard.withLock { $0 = [] }
        self.emit(3...3)
        #expect(self.heard.withLock { $0 } == ["mover 3", "3"])
    }

    @Test
    func `held messages of one user are not handed over once a listener has moved to another`() throws {
        let handler = try self.connect("ann")
        self.emit(1...3)
        try self.addMover(handler, to: self.configuration("bob"))
        self.harness.scheduler.settle()
        self.emit(4...4)
        #expect(self.heard.withLock { $0 } == ["mover 1", "bob anew", "mover 4"])
    }

    @Test
    func `a move of the same user takes no message from the listeners behind, and no held one`() throws {
        let next = try self.configuration("ann", "scripted://other")
        let handler = try self.connect("ann")
        self.emit(1...2)
        try self.addMover(handler, to: next)
        self.harness.scheduler.settle()
        #expect(self.heard.withLock { $0 } == ["mover 1", "ann anew", "mover 2"])
        self.heard.withLock { $0 = [] }
        try self.addListener(handler)
        try self.addMover(handler, to: self.configuration("ann", "scripted://third"))
        try self.addListener(handler)
        self.emit(3...3)
        #expect(self.heard.withLock { $0 }.filter { $0 == "3" }.count == 2)
    }
}
