@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Loading what an earlier process left")
struct StoredBacklogTests {
    /// The rows of a process that has died; the first letter of an event is its ordering key.
    private func store(_ events: [String]) throws -> MemoryDeliveryStore {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let former = try Harness(options: { $0.store = store }, script: { _ in .perfect })
        for event in events { try former.deliver(event) }
        return MemoryDeliveryStore(executor: TestExecutor(), rowsOf: store)
    }

    private func harness(
        _ store: MemoryDeliveryStore, _ options: (inout ConnectionOptions) -> Void
    ) throws -> Harness {
        let harness = try Harness(
            options: {
                $0.store = store
                options(&$0)
            }, script: { _ in .perfect })
        harness.transport.onMessage { $0.reply() }
        return harness
    }

    @Test
    func `an ordering key without an answer holds up neither other keys nor new deliveries`() throws {
        let store = try self.store(["a1", "a2", "b1"])
        let harness = try self.harness(store) { $0.flush.commands = 2 }
        harness.transport.onMessage { if !$0.event.hasPrefix("a") { $0.reply() } }
        try harness.deliver("c1")
        try harness.enter(.connected)
        #expect(harness.arrived == ["a1", "b1", "c1"])
        #expect(harness.isSuccess("c1"))
        #expect(store.waiting == ["a1", "a2"])
    }

    @Test(arguments: [(4, 1_000), (1_000, 8)])
    func `as many rows are loaded for a key without an answer as deliveries may wait`(commands: Int, bytes: Int) throws
    {
        let events = (1...6).map { "a\($0)" } + ["b1"]
        let store = try self.store(events)
        let harness = try self.harness(store) {
            $0.flush.commands = 2
            ($0.deliveries.commands, $0.deliveries.bytes) = (commands, bytes)
        }
        let unanswered = Lock<[ScriptedMessage]>([])
        harness.transport.onMessage { message in unanswered.withLock { $0.append(message) } }
        try harness.enter(.connected)
        #expect(harness.arrived == ["a1"])
        #expect(harness.connection.status.waitingCommands == 4)
        let error = #expect(throws: LinkspanError.self) { try harness.deliver("c1") }
        #expect(error?.code == .bufferFull)
        harness.transport.onMessage { $0.reply() }
        for message in unanswered.withLock({ $0 }) { message.reply() }
        harness.scheduler.settle()
        #expect(Set(harness.arrived) == Set(events))
        #expect(harness.arrived.filter { $0 != "b1" } == events.dropLast())
        #expect(store.waiting.isEmpty)
    }

    @Test
    func `a backlog is loaded in pages, and memory holds hardly more than may wait`() throws {
        let events = (0..<200).map { "a\($0)" }
        let store = try self.store(events)
        let harness = try self.harness(store) { ($0.flush.commands, $0.deliveries.commands) = (10, 20) }
        #expect(harness.connection.status.waitingCommands == 10)
        try harness.deliver("a new")
        let most = Lock(0)
        let connection = harness.connection
        harness.transport.onMessage { message in
            most.withLock { $0 = max($0, connection.status.waitingCommands) }
            message.reply()
        }
        try harness.enter(.connected)
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.arrived == events + ["a new"])
        #expect(most.withLock { $0 } <= 30)
        #expect(store.waiting.isEmpty)
    }
}

extension Harness {
    fileprivate func deliver(_ event: String) throws(LinkspanError) {
        try self.perform(.deliver(orderingKey: String(event.prefix(1))), event)
    }
}
