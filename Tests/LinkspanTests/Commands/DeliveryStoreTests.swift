@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("The store of deliveries")
struct DeliveryStoreTests {
    private func harness(_ store: MemoryStore, _ script: @escaping @Sendable (Int) -> LinkScript) throws -> Harness {
        let harness = try Harness(
            options: {
                $0.store = store
                $0.deliveries.key = .lastArgument
            }, script: script)
        harness.transport.onMessage { $0.reply() }
        return harness
    }

    @Test
    func `a delivery is stored before it is accepted, and forgotten with its outcome`() throws {
        let store = MemoryStore()
        let harness = try self.harness(store) { _ in .perfect }
        try harness.perform(.deliver(lane: "lane"), "a")
        try harness.perform(.send, "not stored")
        #expect(store.events == ["a"])
        try harness.enter(.connected)
        #expect(harness.isSuccess("a"))
        #expect(store.events.isEmpty)
    }

    @Test
    func `what one process leaves, the next one sends first, in order, with the same keys`() throws {
        let store = MemoryStore()
        let first = try self.harness(store) { _ in .perfect }
        for event in ["a", "b"] { try first.perform(.deliver(lane: "lane"), event) }
        let keys = store.kept().map(\.key)
        // The process ends here: nobody tells the store anything.
        let second = try self.harness(store) { _ in .perfect }
        try second.perform(.deliver(lane: "lane"), "c")
        #expect(
            try second.connection.ask { $0.commands.statuses }.map(\.stage) == [.interrupted, .interrupted, .waiting])
        try second.enter(.connected)
        #expect(second.arrived == ["a", "b", "c"])
        #expect(try second.transport.received.prefix(2).map { try $0.payload.decode(String.self) } == keys)
        #expect(store.events.isEmpty)
    }

    @Test
    func `a release forgets nothing, a cancellation does`() throws {
        let store = MemoryStore()
        let harness = try self.harness(store) { _ in .perfect }
        for event in ["a", "b"] { try harness.perform(.deliver(lane: "lane"), event) }
        harness.connection.cancelCommands { $0.event == "a" }
        harness.connection.retire()
        try harness.connection.release()
        #expect(harness.failure("b")?.code == .released)
        #expect(store.events == ["b"])
    }

    @Test
    func `a store that fails refuses the delivery, and a refused delivery is not kept`() throws {
        let store = MemoryStore()
        let harness = try Harness(
            options: {
                $0.store = store
                $0.deliveries.commands = 1
            }, script: { _ in .perfect })
        try harness.perform(.deliver(lane: "lane"), "a")
        #expect(throws: LinkspanError.self) { try harness.perform(.deliver(lane: "lane"), "too many") }
        #expect(store.events == ["a"])
        store.fail()
        let error = #expect(throws: LinkspanError.self) { try harness.perform(.deliver(lane: "lane"), "b") }
        #expect(error?.code == .notKept)
        #expect(error?.certainty == .notSent)
        #expect(harness.recorder.outcomes("b").isEmpty)
    }
}

private final class MemoryStore: DeliveryStore {
    private let state = Lock<(kept: [StoredDelivery], fails: Bool)>(([], false))

    var events: [String] { self.kept().map(\.event) }
    func fail() { self.state.withLock { $0.fails = true } }
    func kept() -> [StoredDelivery] { self.state.withLock { $0.kept } }

    func keep(_ delivery: StoredDelivery) throws {
        try self.state.withLock { state in
            if state.fails { throw CancellationError() }
            state.kept.append(delivery)
        }
    }

    func forget(key: String) { self.state.withLock { $0.kept.removeAll { $0.key == key } } }
}
