@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("The store of deliveries")
struct DeliveryStoreTests {
    private func harness(
        _ store: any DeliveryStore, _ options: (inout ConnectionOptions) -> Void = { _ in },
        _ script: @escaping @Sendable (Int) -> LinkScript = { _ in .perfect }
    ) throws -> Harness {
        let harness = try Harness(
            options: {
                $0.store = store
                $0.deliveries.keyPlacement = .lastArgument
                options(&$0)
            }, script: script)
        harness.transport.onMessage { $0.reply() }
        return harness
    }

    @Test
    func `a delivery is stored before it is accepted, and ends there with its outcome`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let harness = try self.harness(store)
        try harness.perform(.deliver(orderingKey: "room"), "a")
        try harness.perform(.send, "not stored")
        #expect(store.waiting == ["a"])
        try harness.enter(.connected)
        #expect(harness.isSuccess("a"))
        #expect(store.rows.map(\.event) == ["a"])
        guard case .success = store.rows.first?.outcome else {
            Issue.record("the outcome is not stored")
            return
        }
    }

    @Test
    func `the next process sends the left deliveries first, in order, with the same keys`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let first = try self.harness(store)
        for event in ["a", "b"] { try first.perform(.deliver(orderingKey: "room"), event) }
        let keys = store.rows.map(\.key)
        // The process ends here: nobody tells the store anything.
        let next = MemoryDeliveryStore(executor: TestExecutor(), rowsOf: store)
        let second = try self.harness(next)
        try second.perform(.deliver(orderingKey: "room"), "c")
        #expect(
            try second.connection.ask { $0.sender.outgoing.listed }.map(\.stage) == [
                .interrupted, .interrupted, .waiting,
            ])
        try second.enter(.connected)
        #expect(second.arrived == ["a", "b", "c"])
        #expect(try second.transport.received.prefix(2).map { try $0.payload.decode(String.self) } == keys)
        #expect(next.waiting.isEmpty)
    }

    @Test
    func `a stored delivery that has expired is not sent over a link that is open when it is loaded`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let former = try self.harness(store)
        try former.perform(.deliver(orderingKey: "a"), "fresh", timeout: .seconds(60))
        try former.perform(.deliver(orderingKey: "b"), "expired", timeout: .zero)
        let next = MemoryDeliveryStore(executor: TestExecutor(), rowsOf: store)
        // One row at a time: the second is loaded when the first has ended, over the open link.
        let harness = try self.harness(next) { $0.flush.commands = 1 }
        try harness.enter(.connected)
        #expect(harness.arrived == ["fresh"])
        #expect(next.failure("expired") == .timedOut)
        #expect(next.waiting.isEmpty)
    }

    @Test
    func `a release leaves its deliveries in the store, a cancellation ends them`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let harness = try self.harness(store)
        for event in ["a", "b"] { try harness.perform(.deliver(orderingKey: "room"), event) }
        harness.connection.cancelCommands { $0.event == "a" }
        harness.connection.end(nil)
        #expect(harness.failure("b")?.code == .released)
        #expect(store.waiting == ["b"])
        #expect(store.failure("a") == .cancelled)
    }

    @Test
    func `a store that fails refuses the delivery and gives its room back`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let harness = try self.harness(store) { $0.deliveries.commands = 2 }
        try harness.perform(.deliver(orderingKey: "room"), "a")
        store.onCommit { _, decide in decide(CancellationError()) }
        try harness.perform(.deliver(orderingKey: "room"), "b")
        #expect(harness.failure("b")?.code == .notKept)
        #expect(harness.failure("b")?.certainty == .notSent)
        #expect(harness.failure("b")?.cause is CancellationError)
        #expect(harness.failure("b")?.message.hasSuffix("could not be stored: CancellationError()") == true)
        #expect(harness.connection.status.waitingCommands == 1)
        store.onCommit { _, decide in decide(nil) }
        try harness.perform(.deliver(orderingKey: "room"), "c")
        #expect(throws: LinkspanError.self) { try harness.perform(.deliver(orderingKey: "room"), "too many") }
        #expect(store.waiting == ["a", "c"])
        try harness.enter(.connected)
        #expect(harness.arrived == ["a", "c"])
    }

    @Test
    func `commits in another order keep the order of the calls, and nothing is sent before its commit`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let gate = CommitGate(store)
        let harness = try self.harness(store)
        try harness.enter(.connected)
        for event in ["a", "b", "c"] { try harness.perform(.deliver(orderingKey: "room"), event) }
        try harness.perform(.deliver(orderingKey: "other"), "x")
        #expect(gate.events == ["a", "b", "c", "x"])
        for (event, arrived) in [("c", []), ("x", ["x"]), ("b", ["x"]), ("a", ["x", "a", "b", "c"])] {
            gate.commit(event)
            harness.scheduler.settle()
            #expect(harness.arrived == arrived, "after the commit of \(event)")
        }
    }

    @Test
    func `a refused delivery does not hold up those behind it`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let gate = CommitGate(store)
        let harness = try self.harness(store)
        try harness.enter(.connected)
        for event in ["a", "b"] { try harness.perform(.deliver(orderingKey: "room"), event) }
        gate.commit("b")
        gate.refuse("a")
        harness.scheduler.settle()
        #expect(harness.failure("a")?.code == .notKept)
        #expect(harness.arrived == ["b"])
    }

    @Test
    func `all calls of a turn reach the store in one job`() throws {
        let executor = CountingExecutor()
        let store = MemoryDeliveryStore(executor: executor)
        let harness = try self.harness(store)
        let connection = harness.connection
        let before = executor.count
        connection.core.post { _ in
            for event in ["a", "b", "c"] {
                try? connection.perform(Command(.deliver(orderingKey: "room"), event: event, payload: .empty))
            }
        }
        // One job with the rows, and one for each decision of the test's store.
        #expect(executor.count - before == 4)
        #expect(store.waiting == ["a", "b", "c"])
    }

    @Test
    func `a delivery goes to the server, and ends, under the key by which the store knows it`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor(), namesKeys: true)
        let harness = try self.harness(store)
        try harness.perform(.deliver(orderingKey: "room"), "a")
        try harness.enter(.connected)
        #expect(try harness.transport.received.map { try $0.payload.decode(String.self) } == ["row 1"])
        #expect(harness.isSuccess("a"))
        #expect(store.waiting.isEmpty)
    }

    @Test
    func `a delivery that ends before its commit ends under the key by which the store then knows it`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor(), namesKeys: true)
        let gate = CommitGate(store)
        let harness = try self.harness(store)
        try harness.perform(.deliver(orderingKey: "room"), "a")
        harness.connection.cancelCommands { $0.event == "a" }
        #expect(harness.failure("a")?.code == .cancelled)
        gate.commit("a")
        #expect(store.failure("a") == .cancelled)
    }
}

// MARK: - While a commit is under way

extension DeliveryStoreTests {
    @Test
    func `a delivery cancelled before its commit is never sent, nor by the next process`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let gate = CommitGate(store)
        let harness = try self.harness(store)
        try harness.enter(.connected)
        try harness.perform(.deliver(orderingKey: "room"), "a")
        harness.connection.cancelCommands { $0.event == "a" }
        #expect(harness.failure("a")?.code == .cancelled)
        #expect(harness.failure("a")?.certainty == .notSent)
        gate.commit("a")
        harness.scheduler.settle()
        #expect(harness.arrived.isEmpty)
        #expect(store.failure("a") == .cancelled)
    }

    @Test
    func `a release or disconnect before the commit leaves the delivery to the next connection`() throws {
        for releases in [true, false] {
            let store = MemoryDeliveryStore(executor: TestExecutor())
            let gate = CommitGate(store)
            let harness = try self.harness(store)
            try harness.enter(.connected)
            try harness.perform(.deliver(orderingKey: "room"), "a")
            try harness.connection.disconnect()
            if releases { try harness.connection.release() }
            gate.commit("a")
            harness.scheduler.settle()
            #expect(harness.failure("a")?.code == (releases ? .released : nil))
            #expect(store.waiting == ["a"])
            #expect(harness.arrived.isEmpty)
            if releases {
                let second = try self.harness(store)
                try second.enter(.connected)
                #expect(second.arrived == ["a"])
            } else {
                try harness.connection.connect()
                harness.scheduler.settle()
                #expect(harness.arrived == ["a"])
                #expect(harness.isSuccess("a"))
            }
        }
    }

    @Test
    func `a timeout counts from the call, the commit included`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let gate = CommitGate(store)
        let harness = try self.harness(store)
        try harness.enter(.connected)
        try harness.perform(.deliver(orderingKey: "room"), "a", timeout: .seconds(5))
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.failure("a")?.code == .timedOut)
        gate.commit("a")
        harness.scheduler.settle()
        #expect(harness.arrived.isEmpty)
        #expect(store.failure("a") == .timedOut)
    }
}

// MARK: - Loading

extension DeliveryStoreTests {
    @Test
    func `an outcome is in the store before the app gets it`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let harness = try self.harness(store)
        try harness.enter(.connected)
        let found = Lock<[Bool]>([])
        let note: @Sendable (Result<Payload, LinkspanError>) -> Void = { _ in
            let isThere = store.rows.first { $0.key == "k" }?.outcome != nil
            found.withLock { $0.append(isThere) }
        }
        let connection = harness.connection
        try connection.perform(
            Command(.deliver(orderingKey: "room"), event: "a", payload: .empty, key: "k", completion: note))
        try connection.perform(Command(.outcome, event: "", payload: .empty, key: "k", completion: note))
        harness.scheduler.settle()
        #expect(found.withLock { $0 } == [true, true])
    }

    @Test
    func `deliveries are accepted while rows are loaded, and sent behind them`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let first = try self.harness(store)
        for event in ["a", "b"] { try first.perform(.deliver(orderingKey: "room"), event) }
        // The first connection still has the account.
        let second = try self.harness(store)
        try second.enter(.connected)
        try second.perform(.deliver(orderingKey: "room"), "c")
        second.scheduler.settle()
        #expect(store.waiting == ["a", "b", "c"])
        #expect(second.arrived.isEmpty)
        first.connection.end(nil)
        second.scheduler.settle()
        #expect(second.arrived == ["a", "b", "c"])
        #expect(second.isSuccess("c"))
        #expect(store.waiting.isEmpty)
    }

    @Test
    func `a store that cannot be opened is asked again`() throws {
        let base = MemoryDeliveryStore(executor: TestExecutor())
        let first = try self.harness(base)
        try first.perform(.deliver(orderingKey: "room"), "a")
        let store = BrokenStore(MemoryDeliveryStore(executor: TestExecutor(), rowsOf: base), failures: 2)
        let second = try self.harness(store)
        try second.enter(.connected)
        try second.perform(.deliver(orderingKey: "room"), "b")
        second.scheduler.advance(by: .milliseconds(9_999))
        #expect(second.arrived.isEmpty)
        second.scheduler.advance(by: .milliseconds(2))
        #expect(second.arrived == ["a", "b"])
    }

    @Test
    func `the remaining timeout continues`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let first = try self.harness(store)
        try first.perform(.deliver(orderingKey: "room"), "a", timeout: .seconds(5))
        let next = MemoryDeliveryStore(executor: TestExecutor(), rowsOf: store)
        let second = try self.harness(next)
        second.scheduler.advance(by: .seconds(5))
        #expect(next.failure("a") == .timedOut)
        #expect(second.connection.status.waitingCommands == 0)
    }

    @Test
    func `a call with the key of an older row waits for that one, in its place`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let first = try self.harness(store)
        for key in ["a", "b"] { try first.perform(key: key, event: key) }
        // Not released: the second connection has to wait for the rows.
        let second = try self.harness(store)
        for key in ["b", "a"] { try second.perform(key: key, event: "again \(key)") }
        first.connection.end(nil)
        try second.enter(.connected)
        #expect(second.arrived == ["a", "b"])
        #expect(second.isSuccess("again a"))
        #expect(second.isSuccess("again b"))
    }

    @Test
    func `a call with the key of an older row is accepted once`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let first = try self.harness(store)
        try first.perform(key: "a", event: "a")
        let accepted = Lock<[String]>([])
        let second = try self.harness(store)
        try second.connection.perform(
            Command(
                .deliver(orderingKey: "room"), event: "again", payload: .empty, key: "a",
                accepted: { key in accepted.withLock { $0.append(key) } }))
        second.scheduler.settle()
        #expect(accepted.withLock { $0 } == ["a"])
        first.connection.end(nil)
        try second.enter(.connected)
        #expect(second.arrived == ["a"])
        #expect(accepted.withLock { $0 } == ["a"])
    }
}

extension Harness {
    fileprivate func perform(key: String, event: String) throws(LinkspanError) {
        try self.connection.perform(
            Command(
                .deliver(orderingKey: "room"), event: event, payload: .empty, key: key,
                completion: self.recorder.completion(event)))
    }
}

/// Counts the jobs that it is given.
private final class CountingExecutor: JobExecutor {
    private let base = TestExecutor()
    private let given = Lock(0)

    var count: Int { self.given.withLock { $0 } }
    var isCurrent: Bool { self.base.isCurrent }

    func execute(_ job: @escaping @Sendable () -> Void) {
        self.given.withLock { $0 += 1 }
        self.base.execute(job)
    }
}

/// A store that cannot be opened for a while.
private final class BrokenStore: DeliveryStore {
    private let base: MemoryDeliveryStore
    private let failures: Lock<Int>

    init(_ base: MemoryDeliveryStore, failures: Int) {
        self.base = base
        self.failures = Lock(failures)
    }

    var executor: any JobExecutor { self.base.executor }

    func open(account: String?, _ answer: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        let fails = self.failures.withLock { failures in
            failures -= 1
            return failures >= 0
        }
        if fails { answer(.failure(CancellationError())) } else { self.base.open(account: account, answer) }
    }

    func load(
        account: String?, after number: UInt64, rows: Int, bytes: Int,
        _ answer: @escaping @Sendable (Result<[StoredDelivery], any Error>) -> Void
    ) { self.base.load(account: account, after: number, rows: rows, bytes: bytes, answer) }

    func keep(
        _ delivery: StoredDelivery, _ answer: @escaping @Sendable (Result<StoredDelivery, any Error>) -> Void
    ) { self.base.keep(delivery, answer) }

    func end(_ delivery: StoredDelivery, _ answer: @escaping @Sendable () -> Void) { self.base.end(delivery, answer) }

    func find(
        key: String, account: String?, _ answer: @escaping @Sendable (Result<StoredDelivery?, any Error>) -> Void
    ) { self.base.find(key: key, account: account, answer) }

    func close(account: String?) { self.base.close(account: account) }

    func postpone(_ delivery: StoredDelivery) { self.base.postpone(delivery) }

    func session(account: String?, _ answer: @escaping @Sendable (Result<StoredSession?, any Error>) -> Void) {
        answer(.success(nil))
    }

    func keep(_ session: StoredSession, account: String?) {}

    var summary: String? { nil }
    var waitingCount: Int? { nil }

    func erase(account: String?, _ answer: @escaping @Sendable () -> Void) { self.base.erase(account: account, answer) }
}
