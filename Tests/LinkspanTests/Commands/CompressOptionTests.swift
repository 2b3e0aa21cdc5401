@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Messages that must not be compressed", .timeLimit(.minutes(1)))
struct CompressOptionTests {
    private struct Sent: Hashable {
        let event: String
        let isCompressible: Bool
    }

    @Test(arguments: [true, false])
    func `the option reaches the link with every kind of command`(compress: Bool) async throws {
        let sent = Lock<[Sent]>([])
        let transport = InstantTransport { message in
            sent.withLock { $0.append(Sent(event: message.event, isCompressible: message.isCompressible)) }
        }
        let manager = ConnectionManager()
        let handler = try ConnectionBuilder("instant://server").transport(transport).connect(by: manager)
        let typed = Event<Int, Int>("typed")
        // The first waits for the link, the others find it open.
        try handler.send("waits", 1, compress: compress)
        _ = try await handler.request("request", 1, compress: compress)
        try handler.send("send", 1, compress: compress)
        try handler.send("volatile", 1, volatile: true, compress: compress)
        try await handler.deliver("deliver", 1, compress: compress)
        try await handler.enqueue("enqueue", 1, compress: compress)
        try handler.send(typed, 1, compress: compress)
        _ = try await handler.request(typed, 1, compress: compress)
        try await handler.deliver(typed, 1, compress: compress)
        try await handler.enqueue(typed, 1, compress: compress)
        try handler.perform(Command(.send, event: "command", payload: .empty, isCompressible: compress))
        _ = try await handler.request("end", 1)
        let events =
            ["waits", "request", "send", "volatile", "deliver", "enqueue"] + Array(repeating: "typed", count: 4)
            + ["command"]
        #expect(
            sent.withLock { $0 }
                == events.map { Sent(event: $0, isCompressible: compress) } + [
                    Sent(event: "end", isCompressible: true)
                ])
        await manager.shutdown()
    }

    @Test
    func `the option of a delivery outlives its process`() throws {
        let store = MemoryDeliveryStore(executor: TestExecutor())
        let harness = try Harness(options: { $0.store = store }, script: { _ in .perfect })
        for isCompressible in [true, false] {
            try harness.connection.perform(
                Command(.deliver(orderingKey: "room"), event: "a", payload: .empty, isCompressible: isCompressible))
        }
        #expect(store.rows.map(\.isCompressible) == [true, false])
        #expect(store.rows.map { Command(restored: $0).message.isCompressible } == [true, false])
    }
}
