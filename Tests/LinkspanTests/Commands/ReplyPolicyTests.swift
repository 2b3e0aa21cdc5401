@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Reply policies of deliveries")
struct ReplyPolicyTests {
    /// To a server that answers each message with its own name.
    private func harness(_ options: (inout ConnectionOptions) -> Void = { _ in }) throws -> Harness {
        let policy = ReplyPolicy { reply in
            switch reply[0]?.string {
            case "busy": .later
            case "never": .refused
            default: .taken
            }
        }
        let harness = try Harness(
            options: {
                $0.deliveries = DeliveryOptions(repeatAfter: .seconds(1), replies: policy, refusals: 3)
                options(&$0)
            }, script: { _ in .perfect })
        harness.transport.onMessage { message in message.reply(.json("\"\(message.event)\"")) }
        try harness.enter(.connected)
        return harness
    }

    @Test
    func `a reply that refuses fails the delivery with the reply, and the next one goes on`() throws {
        let harness = try self.harness()
        for event in ["never", "fine"] { try harness.perform(.deliver(orderingKey: "room"), event) }
        harness.scheduler.settle()
        #expect(harness.failure("never")?.code == .messageRefused)
        #expect(harness.failure("never")?.details?.text == "\"never\"")
        #expect(harness.isSuccess("fine"))
        #expect(harness.arrived == ["never", "fine"])
    }

    @Test
    func `after so many replies that ask for later a delivery is set aside with the last of them`() throws {
        let harness = try self.harness()
        for event in ["busy", "fine"] { try harness.perform(.deliver(orderingKey: "room"), event) }
        harness.scheduler.settle()
        #expect(harness.outcome("busy") == nil)
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.arrived == ["busy", "busy"])
        #expect(harness.outcome("busy") == nil)
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.arrived == ["busy", "busy", "busy", "fine"])
        #expect(harness.failure("busy")?.code == .setAside)
        #expect(harness.failure("busy")?.details?.text == "\"busy\"")
        #expect(harness.isSuccess("fine"))
    }

    @Test
    func `with a store, replies that ask for later are counted over the processes`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let former = try self.harness { $0.store = store }
        try former.perform(.deliver(orderingKey: "room"), "busy")
        former.scheduler.settle()
        former.scheduler.advance(by: .seconds(1))
        #expect(former.arrived == ["busy", "busy"])
        #expect(store.rows.map(\.refusals) == [2])
        former.connection.end(nil)
        former.scheduler.settle()
        let next = MemoryDeliveryStore(executor: TestExecutor(), rowsOf: store)
        let harness = try self.harness { $0.store = next }
        harness.scheduler.settle()
        #expect(harness.arrived == ["busy"])
        #expect(next.failure("busy") == .setAside)
    }

    @Test
    func `losses of the link do not count, and a server that has made up its mind ends the delivery`() throws {
        let harness = try self.harness { $0.deliveries.refusals = 100 }
        try harness.perform(.deliver(orderingKey: "room"), "busy")
        harness.scheduler.settle()
        harness.transport.openPeers.first?.drop()
        harness.transport.onMessage { $0.reply(.json("\"taken\"")) }
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.isSuccess("busy"))
    }

    @Test
    func `what a policy asks of its connection happens after the delivery has its outcome`() throws {
        let connection = Lock<PooledConnection?>(nil)
        let harness = try self.harness { options in
            options.deliveries.replies = ReplyPolicy { _ in
                let connection = connection.withLock { $0 }
                connection?.cancelCommands { _ in true }
                try? connection?.perform(Command(.deliver(orderingKey: "room"), event: "sent by it", payload: .empty))
                return .taken
            }
        }
        connection.withLock { $0 = harness.connection }
        try harness.perform(.deliver(orderingKey: "room"), "judged")
        harness.transport.onMessage { if $0.event == "judged" { $0.reply() } }
        harness.scheduler.settle()
        #expect(harness.isSuccess("judged"))
        #expect(harness.connection.lateReplies == 0)
        #expect(harness.arrived == ["judged", "sent by it"])
        connection.withLock { $0 = nil }
    }

    @Test
    func `a request is not judged`() throws {
        let harness = try self.harness()
        try harness.perform(.request, "never")
        harness.scheduler.settle()
        #expect(harness.isSuccess("never"))
    }
}
