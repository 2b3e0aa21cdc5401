internal import Dispatch
@testable import Linkspan
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Receipts of deliveries", .timeLimit(.minutes(1)))
struct DeliveryReceiptTests {
    private let harness = PoolHarness()
    private let store: MemoryDeliveryStore

    init() { self.store = MemoryDeliveryStore(executor: self.harness.scheduler.executor) }

    private func connect(to store: MemoryDeliveryStore?, by manager: ConnectionManager? = nil) throws
        -> ConnectionHandler
    {
        try self.harness.configuration { $0.store = store }.connect(by: manager ?? self.harness.manager)
    }

    /// Runs a call beside the clock.
    private func result<Value: Sendable>(
        _ what: String, _ body: @escaping @Sendable () async throws(LinkspanError) -> Value
    ) async throws -> Result<Value, LinkspanError> {
        let result = Lock<Result<Value, LinkspanError>?>(nil)
        // Runs beside the clock, which has to be moved meanwhile.
        Task {
            do throws(LinkspanError) {
                let value = try await body()
                result.withLock { $0 = .success(value) }
            } catch {
                result.withLock { $0 = .failure(error) }
            }
        }
        try await eventually(what, self.harness.scheduler) { result.withLock { $0 != nil } }
        return try #require(result.withLock { $0 })
    }

    private func enqueue(
        _ event: String, key: String? = nil, on handler: ConnectionHandler
    ) async throws -> String {
        try await self.result("the key") { () async throws(LinkspanError) in
            try await handler.enqueue(event, orderingKey: "room", key: key)
        }.get()
    }

    private func outcome(
        of key: String, on handler: ConnectionHandler
    ) async throws -> Result<Payload, LinkspanError> {
        try await self.result("the outcome") { () async throws(LinkspanError) in
            try await handler.outcome(of: key)
        }
    }

    @Test
    func `enqueue returns when the row is committed, before the reply`() async throws {
        let gate = CommitGate(self.store)
        let handler = try self.connect(to: self.store)
        let isAccepted = Lock(false)
        // Runs beside the clock, which has to be moved meanwhile.
        let call = Task {
            let key = try await handler.enqueue("a", key: "one")
            isAccepted.withLock { $0 = true }
            return key
        }
        try await eventually("the row", self.harness.scheduler) { gate.events == ["a"] }
        #expect(isAccepted.withLock { !$0 })
        #expect(self.harness.transport.received.isEmpty)
        gate.commit("a")
        try await eventually("the key", self.harness.scheduler) { isAccepted.withLock { $0 } }
        #expect(try await call.value == "one")
        self.harness.scheduler.settle()
        #expect(self.store.waiting == ["a"])
        #expect(self.harness.transport.received.map(\.event) == ["a"])
    }

    @Test
    func `enqueue gives a key on a connection without a store, too`() async throws {
        let handler = try self.connect(to: nil)
        let key = try await self.enqueue("a", on: handler)
        #expect(!key.isEmpty)
    }

    @Test
    func `enqueue that is cancelled before the commit gives the delivery up`() async throws {
        let gate = CommitGate(self.store)
        let handler = try self.connect(to: self.store)
        let call = Task { try await handler.enqueue("a") }
        try await eventually("the row", self.harness.scheduler) { gate.events == ["a"] }
        call.cancel()
        let error = await #expect(throws: LinkspanError.self) { try await call.value }
        #expect(error?.code == .cancelled)
        gate.commit("a")
        self.harness.scheduler.settle()
        #expect(self.store.failure("a") == .cancelled)
        #expect(self.harness.transport.received.isEmpty)
    }

    @Test
    func `enqueue throws when the row is refused`() async throws {
        self.store.onCommit { _, decide in decide(CancellationError()) }
        let handler = try self.connect(to: self.store)
        let result = try await self.result("the refusal") { () async throws(LinkspanError) in
            try await handler.enqueue("a")
        }
        #expect(result.error?.code == .notKept)
    }

    @Test
    func `the outcome can be awaited, and asked for after a restart`() async throws {
        let first = try self.connect(to: self.store)
        let key = try await self.enqueue("a", on: first)
        self.harness.scheduler.settle()
        let next = MemoryDeliveryStore(executor: self.harness.scheduler.executor, rowsOf: self.store)
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = self.harness.scheduler
            })
        self.harness.transport.onMessage { $0.reply(.json("\"done\"")) }
        let second = try self.connect(to: next, by: manager)
        // The row waits, is sent again, and is answered.
        #expect(try await self.outcome(of: key, on: second).get().decode(String.self) == "done")
        // The outcome is in the store by now.
        #expect(try await self.outcome(of: key, on: second).get().decode(String.self) == "done")
        let third = ConnectionManager(
            options: .init {
                $0.scheduler = self.harness.scheduler
            })
        let last = MemoryDeliveryStore(executor: self.harness.scheduler.executor, rowsOf: next)
        let handler = try self.connect(to: last, by: third)
        #expect(try await self.outcome(of: key, on: handler).get().decode(String.self) == "done")
        #expect(self.harness.transport.received.map(\.event) == ["a", "a"])
    }

    @Test
    func `the outcome of an unknown delivery is an error, with and without a store`() async throws {
        for store in [self.store, nil] {
            let handler = try self.connect(to: store)
            let outcome = try await self.outcome(of: "never", on: handler)
            #expect(outcome.error?.code == .notKept)
            _ = try await self.result("the end") { () async throws(LinkspanError) in
                await self.harness.manager.shutdown()
            }
        }
    }

    @Test
    func `a wait for an outcome ends with its task, and the delivery goes on`() async throws {
        let handler = try self.connect(to: self.store)
        let key = try await self.enqueue("a", on: handler)
        let wait = Task { try await handler.outcome(of: key) }
        try await eventually("the wait", self.harness.scheduler) { handler.status.waitingCommands == 2 }
        wait.cancel()
        let error = await #expect(throws: LinkspanError.self) { try await wait.value }
        #expect(error?.code == .cancelled)
        #expect(self.store.waiting == ["a"])
        #expect(handler.status.waitingCommands == 1)
    }

    @Test
    func `the same key is the same delivery: one row, one message, one key, one outcome`() async throws {
        for store in [self.store, nil] {
            let handler = try self.connect(to: store)
            self.harness.scheduler.settle()
            let first = self.harness.transport.received.count
            let receipts = [
                try await self.enqueue("a", key: "k", on: handler), try await self.enqueue("a", key: "k", on: handler),
            ]
            #expect(receipts[0] == receipts[1])
            let wait = Task { try await handler.deliver("a", key: "k") }
            try await eventually("the call", self.harness.scheduler) { handler.status.waitingCommands == 3 }
            #expect(await handler.commands.map(\.key) == ["k"])
            self.harness.scheduler.settle()
            #expect(self.harness.transport.received.count == first + 1)
            self.harness.transport.peers.last?.reply(0)
            self.harness.scheduler.settle()
            _ = try await wait.value
            #expect(handler.status.waitingCommands == 0)
            if let store {
                #expect(store.rows.count == 1)
                // The store still knows the outcome.
                #expect(try await self.enqueue("a", key: "k", on: handler) == receipts[0])
                _ = try await self.outcome(of: receipts[0], on: handler).get()
                #expect(self.harness.transport.received.count == first + 1)
            }
            _ = try await self.result("the end") { () async throws(LinkspanError) in
                await self.harness.manager.shutdown()
            }
        }
    }

    @Test
    func `a drain waits for a commit, and for the reply behind it`() async throws {
        self.harness.transport.onMessage { $0.reply() }
        let gate = CommitGate(self.store)
        let handler = try self.connect(to: self.store)
        self.harness.scheduler.settle()
        try handler.perform(Command(.deliver(orderingKey: "room"), event: "a", payload: .empty))
        let left = Lock<[String]?>(nil)
        let timers = self.harness.scheduler.pendingCount
        // Runs beside the clock, which has to be moved meanwhile.
        Task {
            let commands = await handler.drain(within: .seconds(5))
            left.withLock { $0 = commands.map(\.event) }
        }
        // The drain waits when its limit is running.
        await self.harness.scheduler.pending(atLeast: timers + 1)
        #expect(left.withLock { $0 == nil })
        gate.commit("a")
        try await eventually("the end of the drain", self.harness.scheduler) { left.withLock { $0 != nil } }
        #expect(left.withLock { $0 } == [])
        #expect(self.store.waiting.isEmpty)
    }

    @Test
    func `a store that blocks its executor does not hold up the connection`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer in peer.onOther { $0.reply($0.payload) } }
        let (store, isBlocked, goOn) = (MemoryDeliveryStore(), Promise<Void>(), DispatchSemaphore(value: 0))
        store.onCommit { _, decide in
            isBlocked.fulfill()
            goOn.wait()
            decide(nil)
        }
        let manager = ConnectionManager()
        let handler = try ConnectionBuilder("memory://server").transport(.inMemory(hub)).options { $0.store = store }
            .connect(by: manager)
        async let delivered = handler.deliver("slow")
        await isBlocked.value
        _ = try await handler.request("quick")
        goOn.signal()
        _ = try await delivered
        await manager.shutdown()
        #expect(store.waiting.isEmpty)
    }
}

extension Result {
    fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
