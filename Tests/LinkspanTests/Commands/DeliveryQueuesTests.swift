internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@testable import Linkspan

extension DeliveryQueues {
    fileprivate mutating func beginAll(limit: Int = .max) -> [Begun] {
        var begun: [Begun] = []
        while begun.count < limit, let next = self.beginNext() { begun.append(next) }
        return begun
    }
}

@Suite("Delivery queues")
struct DeliveryQueuesTests {
    private func command(_ event: String, orderingKey: String = "room") -> Command {
        Command(.deliver(orderingKey: orderingKey), event: event, payload: .empty)
    }

    @Test
    func `only the oldest of an ordering key is under way`() throws {
        var queues = DeliveryQueues()
        let first = self.command("first")
        try queues.append(first, orderingKey: "room", within: BufferLimits())
        try queues.append(self.command("second"), orderingKey: "room", within: BufferLimits())
        #expect(queues.beginAll().map(\.command.event) == ["first"])
        #expect(queues.beginAll().isEmpty)
        #expect(queues.remove(first.id)?.wasSent == true)
        #expect(queues.beginAll().map(\.command.event) == ["second"])
    }

    @Test
    func `an interrupted head stays first`() throws {
        var queues = DeliveryQueues()
        for event in ["first", "second"] {
            try queues.append(self.command(event), orderingKey: "room", within: BufferLimits())
        }
        _ = queues.beginAll()
        _ = queues.interruptAll(isBlamed: false)
        #expect(queues.beginAll().map(\.command.event) == ["first"])
    }

    @Test
    func `all queues begin in the order in which their heads were made`() throws {
        var queues = DeliveryQueues()
        for number in 0..<20 {
            try queues.append(self.command("\(number)"), orderingKey: "\(number % 10)", within: BufferLimits())
        }
        #expect(queues.beginAll().map(\.command.event) == (0..<10).map(String.init))
        #expect(queues.beginAll().isEmpty)
    }

    @Test
    func `only what was begun may have been sent`() throws {
        var queues = DeliveryQueues()
        for event in ["a", "b"] { try queues.append(self.command(event), orderingKey: "one", within: BufferLimits()) }
        try queues.append(self.command("c"), orderingKey: "two", within: BufferLimits())
        _ = queues.beginAll(limit: 1)
        _ = queues.interruptAll(isBlamed: false)
        let left = queues.removeAll()
        #expect(left.map(\.command.event) == ["a", "b", "c"])
        #expect(left.map(\.wasSent) == [true, false, false])
    }

    @Test
    func `the next head does not inherit that the former one was sent`() throws {
        var queues = DeliveryQueues()
        let (first, second) = (self.command("a"), self.command("b"))
        try queues.append(first, orderingKey: "room", within: BufferLimits())
        try queues.append(second, orderingKey: "room", within: BufferLimits())
        _ = queues.beginAll()
        _ = queues.remove(first.id)
        #expect(queues.remove(second.id)?.wasSent == false)
    }

    @Test
    func `counts follow what is in the queues, and both limits hold`() throws {
        let limits = BufferLimits(commands: 2, bytes: 6)
        var queues = DeliveryQueues()
        let first = self.command("aaa")
        try queues.append(first, orderingKey: "room", within: limits)
        try queues.append(self.command("bbb"), orderingKey: "other", within: limits)
        #expect(throws: LinkspanError.self) { try queues.append(self.command(""), orderingKey: "room", within: limits) }
        _ = queues.remove(first.id)
        #expect((queues.count, queues.byteCount) == (1, 3))
        #expect(throws: LinkspanError.self) {
            try queues.append(self.command("cccc"), orderingKey: "room", within: limits)
        }
        _ = queues.removeAll()
        #expect((queues.count, queues.byteCount) == (0, 0))
    }
}

@Suite("Accounts of stored deliveries", .timeLimit(.minutes(1)))
struct DeliveryAccountTests {
    private let harness = PoolHarness()
    private let store: MemoryDeliveryStore
    private let ann = CredentialSource.fixed(.auth("ann"), account: "ann")
    private let bob = CredentialSource.fixed(.auth("bob"), account: "bob")

    init() {
        self.store = MemoryDeliveryStore(executor: self.harness.scheduler.executor)
        self.harness.transport.onMessage { $0.reply() }
    }

    private func configuration(
        _ source: CredentialSource, _ url: String = "scripted://server"
    ) throws(LinkspanError) -> ConnectionConfiguration {
        try ConnectionBuilder(url).transport(self.harness.transport).credentials(source)
            .options { [store] in $0.store = store }.build()
    }

    private func connect(
        _ source: CredentialSource, _ url: String = "scripted://server"
    ) throws(LinkspanError) -> ConnectionHandler {
        try self.configuration(source, url).connect(by: self.harness.manager)
    }

    private func leave(_ events: [String], of source: CredentialSource) throws {
        let handler = try self.connect(source)
        self.harness.scheduler.settle()
        try handler.disconnect()
        for event in events {
            try handler.perform(Command(.deliver(orderingKey: "room"), event: event, payload: .empty))
        }
        handler.release()
        self.harness.scheduler.advance(by: .seconds(10))
        #expect(self.harness.manager.statistics.isEmpty)
    }

    /// The events that arrived, each with the token of its link.
    private var arrived: [String] {
        let peers = self.harness.transport.peers
        return self.harness.transport.received.map { "\(peers[$0.link - 1].request.token) \($0.event)" }
    }

    private func logOut(_ source: CredentialSource, keepingDeliveries: Bool = false) async throws {
        let isOut = Lock(false)
        // Runs beside the clock, which has to be moved meanwhile.
        Task {
            await self.harness.manager.logOut(source, keepingDeliveries: keepingDeliveries)
            isOut.withLock { $0 = true }
        }
        try await eventually("the end of the log-out", self.harness.scheduler) { isOut.withLock { $0 } }
    }

    @Test
    func `deliveries of one account are not sent by a connection of another`() throws {
        try self.leave(["of ann"], of: self.ann)
        try self.leave(["of nobody"], of: .none)
        let bob = try self.connect(self.bob)
        self.harness.scheduler.advance(by: .seconds(60))
        #expect(bob.state == .connected)
        #expect(self.arrived.isEmpty)
        let ann = try self.connect(self.ann)
        self.harness.scheduler.settle()
        #expect(ann.state == .connected)
        #expect(self.arrived == ["ann of ann"])
        let nobody = try self.connect(.none)
        self.harness.scheduler.settle()
        #expect(nobody.state == .connected)
        #expect(self.arrived == ["ann of ann", " of nobody"])
        #expect(self.store.waiting.isEmpty)
    }

    @Test
    func `another source of the account sends the rows, once the former connection has gone`() throws {
        let former = try self.connect(self.ann)
        self.harness.scheduler.settle()
        try former.disconnect()
        try former.perform(Command(.deliver(orderingKey: "room"), event: "a", payload: .empty))
        let renewed = CredentialSource.fixed(.auth("ann again"), account: "ann")
        let next = try self.connect(renewed)
        self.harness.scheduler.settle()
        #expect(next.state == .connected)
        #expect(self.arrived.isEmpty)
        former.release()
        self.harness.scheduler.advance(by: .seconds(10))
        #expect(self.arrived == ["ann again a"])
    }

    @Test
    func `a store with credentials needs an account`() throws {
        let error = #expect(throws: LinkspanError.self) {
            try self.configuration(.fixed(.auth("someone")))
        }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test
    func `a store serves one endpoint of an account at a time`() throws {
        let held = try self.connect(self.ann)
        let error = #expect(throws: LinkspanError.self) { try self.connect(self.ann, "scripted://other") }
        #expect(error?.code == .conflictingOptions)
        #expect(throws: Never.self) { try self.connect(self.bob, "scripted://other").release() }
        held.release()
        #expect(throws: Never.self) { try self.connect(self.ann, "scripted://other") }
    }

    @Test
    func `a move to another account leaves the rows of the former and loads those of the next`() throws {
        try self.leave(["of bob"], of: self.bob)
        let handler = try self.connect(self.ann)
        self.harness.scheduler.settle()
        try handler.disconnect()
        let recorder = EventRecorder()
        try handler.perform(
            Command(
                .deliver(orderingKey: "room"), event: "of ann", payload: .empty,
                completion: recorder.completion("of ann")))
        try self.harness.manager.move(handler, to: self.configuration(self.bob))
        try handler.connect()
        self.harness.scheduler.settle()
        guard case .failure(let error) = recorder.outcomes("of ann").first else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .moved)
        #expect(self.arrived == ["bob of bob"])
        #expect(self.store.waiting == ["of ann"])
        let ann = try self.connect(self.ann)
        self.harness.scheduler.settle()
        #expect(ann.state == .connected)
        #expect(self.arrived == ["bob of bob", "ann of ann"])
    }

    @Test(arguments: [3, 600])
    func `a move to another identity of the account sends all that waits, in its order`(count: Int) throws {
        let events = (1...count).map { "\($0)" }
        try self.leave(events, of: self.ann)
        let handler = try self.connect(self.ann)
        // While it is down, only a first part of many is loaded.
        try handler.disconnect()
        self.harness.scheduler.settle()
        let transport = IdentifiedTransport(base: self.harness.transport, identity: ["certificate": Secret("another")])
        try self.harness.manager.move(
            handler,
            to: ConnectionBuilder("scripted://server").transport(transport).credentials(self.ann)
                .options { [store] in $0.store = store }.build())
        try handler.connect()
        self.harness.scheduler.advance(by: .seconds(60))
        #expect(self.arrived == events.map { "ann \($0)" })
        #expect(self.store.waiting.isEmpty)
    }

    @Test
    func `a move to another source of the account leaves the session to the former server`() throws {
        let harness = PoolHarness { _ in .init { $0.tellsResumption = true } }
        let store = MemoryDeliveryStore(executor: harness.scheduler.executor)
        func configuration(_ token: String, _ url: String) throws -> ConnectionConfiguration {
            try ConnectionBuilder(url).transport(harness.transport)
                .credentials(.fixed(.auth(token), account: "ann")).options { $0.store = store }.build()
        }
        let handler = try configuration("one", "scripted://server").connect(by: harness.manager)
        harness.scheduler.settle()
        harness.transport.peers.first?.emit("line")
        harness.scheduler.advance(by: .seconds(1))
        #expect(store.sessions["ann"]?.resumption != nil)
        try harness.manager.move(handler, to: configuration("two", "scripted://other"))
        harness.scheduler.advance(by: .seconds(5))
        #expect(handler.state == .connected)
        #expect(harness.transport.peers.map(\.request.token) == ["one", "two"])
        #expect(harness.transport.peers.map { $0.request.resumption?.exposed } == [nil, nil])
    }

    @Test
    func `a move to another account resumes the session that the store knows of that one`() throws {
        let harness = PoolHarness { _ in .init { $0.tellsResumption = true } }
        let store = MemoryDeliveryStore(executor: harness.scheduler.executor)
        store.executor.execute { store.keep(StoredSession(resumption: Secret("of bob")), account: "bob") }
        func configuration(_ source: CredentialSource) throws -> ConnectionConfiguration {
            try ConnectionBuilder("scripted://server").transport(harness.transport).credentials(source)
                .options { $0.store = store }.build()
        }
        let handler = try configuration(self.ann).connect(by: harness.manager)
        harness.scheduler.settle()
        try harness.manager.move(handler, to: configuration(self.bob))
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.transport.peers.map(\.request.token) == ["ann", "bob"])
        #expect(harness.transport.peers.map { $0.request.resumption?.exposed } == [nil, "of bob"])
    }

    @Test
    func `a log-out erases the account, also when its connection has just gone`() async throws {
        try self.leave(["of bob"], of: self.bob)
        for isHeld in [true, false] {
            let handler = try self.connect(self.ann)
            self.harness.scheduler.settle()
            try handler.disconnect()
            try handler.perform(Command(.deliver(orderingKey: "room"), event: "of ann", payload: .empty))
            if !isHeld { handler.release() }
            try await self.logOut(self.ann)
            #expect(self.store.rows.map(\.event) == ["of bob"])
        }
    }

    @Test
    func `a log-out can keep what waits for the user's return`() async throws {
        let handler = try self.connect(self.ann)
        self.harness.scheduler.settle()
        try handler.disconnect()
        try handler.perform(Command(.deliver(orderingKey: "room"), event: "of ann", payload: .empty))
        try await self.logOut(self.ann, keepingDeliveries: true)
        #expect(self.store.waiting == ["of ann"])
        let bob = try self.connect(self.bob)
        self.harness.scheduler.settle()
        #expect(bob.state == .connected)
        #expect(self.arrived.isEmpty)
        let ann = try self.connect(self.ann)
        self.harness.scheduler.settle()
        #expect(ann.state == .connected)
        #expect(self.arrived == ["ann of ann"])
    }

    @Test
    func `a log-out during a commit waits for it, and leaves nothing behind`() async throws {
        let gate = CommitGate(self.store)
        let handler = try self.connect(self.ann)
        self.harness.scheduler.settle()
        try handler.perform(Command(.deliver(orderingKey: "room"), event: "a", payload: .empty))
        let isOut = Lock(false)
        // Runs beside the clock, which has to be moved meanwhile.
        Task {
            await self.harness.manager.logOut(self.ann)
            isOut.withLock { $0 = true }
        }
        try await eventually("the release", self.harness.scheduler) { handler.state == .released }
        for _ in 0..<100 { await Task.yield() }
        #expect(isOut.withLock { !$0 })
        gate.commit("a")
        try await eventually("the end of the log-out", self.harness.scheduler) { isOut.withLock { $0 } }
        #expect(self.store.rows.isEmpty)
        #expect(self.arrived.isEmpty)
    }

    @Test
    func `an account is erased through its store alone`() async throws {
        try self.leave(["of ann"], of: self.ann)
        try self.leave(["of bob"], of: self.bob)
        await self.store.erase(account: "ann")
        #expect(self.store.waiting == ["of bob"])
    }
}

/// The scripted transport for a client with an identity of its own.
private struct IdentifiedTransport: Transport {
    let base: ScriptedTransport
    let identity: [String: Secret]
    var name: String { self.base.name }
    var schemes: Set<String> { self.base.schemes }
    var executor: any JobExecutor { self.base.executor }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        self.base.makeLink(request, receiver: receiver)
    }
}
